"""Messages about a topic whose history has as many versions as it can store, or soon will have.

The same for a policy's record, which is all histories of its Pulsar namespace with their payloads.

The webhook and the controller report the same reason. `core.plan` plans no write then.
"""

from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.core.alignment import Alignment, HistoryBehind
from topicschema.core.errors import StalledAtBrokerError, StalledError
from topicschema.core.history import WARNED_FROM, History
from topicschema.core.reasons import Reason
from topicschema.core.topics import Topic
from topicschema.core.verdict import Outcome, Verdict

_MOVE = "use another topic, or, when no consumer needs the messages of the earlier versions,"
_RECREATE = f"{_MOVE} delete this resource with deletionPolicy: Delete and create it again"


def refusal(history: History, verdict: Verdict | None) -> StalledError | None:
    """Return the error if the candidate needs a version more than the history can store, else None."""
    if verdict is None or verdict.outcome is not Outcome.NEXT_VERSION or history.remaining > 0:
        return None
    message = f"the history of topic {history.key.topic} has {len(history.entries):,} versions, which is the maximum"
    return StalledError(Reason.HISTORY_FULL, f"{message}; {_RECREATE}. A schema that is already a version still passes")


def refusal_of_broker(history: History, alignment: Alignment) -> StalledError | None:
    """Return the error if the history cannot store all versions of the broker, else None."""
    if not isinstance(alignment, HistoryBehind) or alignment.history.remaining >= 0:
        return None
    message = (
        f"with the broker's versions, the history of topic {history.key.topic} would have "
        f"{len(alignment.history.entries):,} versions, {-alignment.history.remaining:,} more than the maximum"
    )
    advice = _RECREATE if history.entries else f"{_MOVE} delete the topic's schemas at the broker"
    return StalledAtBrokerError(Reason.HISTORY_FULL, f"{message}; {advice}")


def is_record_full(policy: NamespaceSchemaPolicy, used: int | None) -> bool:
    """Return True if the `used` bytes of the policy's histories are all that its registry allows."""
    limit = policy.limit_bytes
    return limit is not None and used is not None and used >= limit


def refusal_of_record(
    policy: NamespaceSchemaPolicy, used: int | None, topic: Topic, verdict: Verdict | None, alignment: Alignment | None
) -> StalledError | None:
    """Return the error if the topic needs another version and the policy's record is full, else None."""
    is_behind = isinstance(alignment, HistoryBehind) and bool(alignment.new_versions)
    is_next = verdict is not None and verdict.outcome is Outcome.NEXT_VERSION
    if used is None or not (is_behind or is_next) or not is_record_full(policy, used):
        return None
    return StalledError(
        Reason.RECORD_FULL,
        f"topic {topic} can get no further version: the histories of policy {policy.metadata.name} take "
        f"{used:,} bytes of {policy.limit_bytes:,} (spec.limits.bytes of registry {policy.spec.registry}). The "
        "platform team raises the limit, or deletes histories that no one needs. A schema that is already a version "
        "still passes",
    )


def warnings(history: History, verdict: Verdict) -> tuple[str, ...]:
    """Return one warning if the candidate becomes one of the last versions that the history can store, else ()."""
    if verdict.outcome is not Outcome.NEXT_VERSION or len(history.entries) < WARNED_FROM:
        return ()
    count = f"the history of this topic has {len(history.entries):,} versions; after this one it takes"
    return (f"{count} {history.remaining - 1:,} more. Before it is full, {_RECREATE}",)
