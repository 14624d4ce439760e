"""The status of a suspended resource. Pure. It has the current generation and reports that the spec is not judged."""

from dataclasses import replace

from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.topicschemas import TopicSchemaStatus
from topicschema.reconcile.runtime.conditions import ConditionInput, ObservedAt
from topicschema.reconcile.topicschema.status import of_another_spec, without_own_strategy

_MESSAGE = (
    "spec.suspend is true: the operator neither judges nor registers this spec, and validates no messages; Ready has "
    "its former value. Set suspend to false to continue"
)
_PROGRESS = (ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED)


def suspended(before: TopicSchemaStatus, moment: ObservedAt) -> TopicSchemaStatus:
    """Return the status with the previous value of Ready and the reason Suspended.

    Reconciling and Stalled are removed. The other conditions stay with their generation. An unfinished validation is
    removed.
    """
    readiness = next((each.status for each in before.conditions if each.type is ConditionType.READY), None)
    ready = ConditionInput(ConditionType.READY, readiness or ConditionStatus.UNKNOWN, "Suspended", _MESSAGE)
    validation, left = before.validation, set(_PROGRESS)
    if validation is not None and not validation.is_final:
        validation, left = None, left | {ConditionType.VALIDATED}
    after = replace(
        before,
        observed_generation=moment.generation,
        conditions=(*moment.conditions((ready,)), *(each for each in before.conditions if each.type not in left)),
        validation=validation,
    )
    return of_another_spec(without_own_strategy(after))
