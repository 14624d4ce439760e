"""How long what messages hold is shown: no longer than the policy wants it, in the status and in the report.

Which report may show it stands in the status until none does, whatever becomes of the question and of its answer: so
each pass knows without a read. Pure; what is written there, `report_configmap` knows.
"""

from dataclasses import replace
from typing import Final

from topicschema.api.topicschemas import TopicSchemaStatus
from topicschema.api.validation import ValidationStatus
from topicschema.judging.policies import FoundPolicy

EXAMPLES: Final = 10
"""As many as a report shows, of which the status has those that it had room for."""


def are_wanted(found: FoundPolicy | None) -> bool:
    """Whether the policy wants values shown."""
    said = None if found is None else found.resource.spec.validation
    return said is not None and bool(said.include_values)


def shown_in(status: TopicSchemaStatus) -> str | None:
    """The ConfigMap that may show values; None where none does."""
    told = status.validation
    beside = told.report if told is not None and _shows_values(told) else None
    return status.report_with_values or beside


def redacted(status: TopicSchemaStatus) -> TopicSchemaStatus:
    """The same status without values; it names the report that may show some, as that which is to be emptied."""
    told, shown = status.validation, shown_in(status)
    if told is not None:
        examples = tuple(replace(each, value=None) for each in told.examples)
        told = replace(told, examples=examples, report=None if told.report == shown else told.report)
    return replace(status, validation=told, report_with_values=shown)


def shown_after(
    status: TopicSchemaStatus, found: FoundPolicy | None, told: ValidationStatus | None, name: str
) -> str | None:
    """The ConfigMap that may show values after a pass; None where none does. `name` is that of the topic's report.

    It may from when messages are asked with values: the pass that keeps the report may be its process' last.
    """
    if told is None or told.report is None or told == status.validation:
        is_asked = told is not None and told.job is not None and not told.is_final
        return name if is_asked and are_wanted(found) else shown_in(status)
    has_all = len(told.examples) >= min(told.invalid or 0, EXAMPLES)
    return told.report if are_wanted(found) and (_shows_values(told) or not has_all) else None


def _shows_values(told: ValidationStatus) -> bool:
    return any(each.value is not None for each in told.examples)
