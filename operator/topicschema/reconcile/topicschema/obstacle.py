"""The obstacle that prevents the registration of a compatible schema, as the error that the status reports."""

from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import TopicSchemaError, WaitingError
from topicschema.core.topics import Topic
from topicschema.core.verdict import Outcome
from topicschema.judging import full_history
from topicschema.reconcile.topicschema.broker_gather import MISSING, TOPIC_SECONDS
from topicschema.reconcile.topicschema.gather import Judged
from topicschema.reconcile.validation import status as validation_status


def obstacle(judged: Judged) -> TopicSchemaError | None:
    """Return the error, or None: a full history, a pending or failed validation, a refusal, or a missing topic."""
    state, history, verdict = judged.loaded.state, judged.loaded.stored.history, judged.verdict
    too_many = None if state is None else full_history.refusal_of_broker(history, state.alignment)
    full = too_many or full_history.refusal(history, verdict)
    if full is not None:
        return full
    is_registered = verdict is not None and verdict.outcome is Outcome.EQUAL_VERSION
    if judged.validation is not None and not is_registered:
        held_back = validation_status.blocking_error(judged.validation)
        if held_back is not None:
            return held_back
    if state is None:
        return None
    # Another client may have registered the schema since the broker refused it.
    refused = None if is_registered else state.refused
    return refused or _missing_topic(state, judged.loaded.topic)


def _missing_topic(state: BrokerState, topic: Topic) -> WaitingError | None:
    if state.overrides is None or not state.overrides.waits_for_topic or not state.may_write:
        return None
    message = (
        f"topic {topic} does not exist at the broker, so its own settings cannot be written; its first producer or "
        "consumer creates it, because the operator creates no topics"
    )
    return WaitingError(MISSING, message, TOPIC_SECONDS)
