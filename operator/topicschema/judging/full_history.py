"""Messages about a topic whose record has as many versions as it can store, or soon will have.

The webhook and the controller report the same reason. `core.plan` plans no write then.
"""

from topicschema.core.alignment import Alignment, HistoryBehind
from topicschema.core.errors import StalledAtBrokerError, StalledError
from topicschema.core.history import WARNED_FROM, History
from topicschema.core.verdict import Outcome, Verdict

REASON = "HistoryFull"
_MOVE = "take another topic, or, once nobody needs the messages of the earlier versions,"
_BEGIN_ANEW = f"{_MOVE} delete this resource with deletionPolicy: Delete and create it anew"


def refusal(history: History, verdict: Verdict | None) -> StalledError | None:
    """Return the error if the candidate needs a version more than the record can store, else None."""
    if verdict is None or verdict.outcome is not Outcome.NEXT_VERSION or history.remaining > 0:
        return None
    message = f"the record of topic {history.key.topic} has {len(history.entries):,} versions, as many as it takes"
    return StalledError(REASON, f"{message}; {_BEGIN_ANEW}. A schema that is on record still passes")


def refusal_of_broker(history: History, found: Alignment) -> StalledError | None:
    """Return the error if the record cannot store all versions of the broker, else None."""
    if not isinstance(found, HistoryBehind) or found.history.remaining >= 0:
        return None
    message = (
        f"with what the broker has, the record of topic {history.key.topic} would have {len(found.history.entries):,} "
        f"versions, {-found.history.remaining:,} more than it takes"
    )
    advice = _BEGIN_ANEW if history.entries else f"{_MOVE} delete the topic's schemas at the broker"
    return StalledAtBrokerError(REASON, f"{message}; {advice}")


def warnings(history: History, verdict: Verdict) -> tuple[str, ...]:
    """Return one warning if the candidate becomes one of the last versions that the record can store, else ()."""
    if verdict.outcome is not Outcome.NEXT_VERSION or len(history.entries) < WARNED_FROM:
        return ()
    count = f"the record of this topic has {len(history.entries):,} versions; after this one it takes"
    return (f"{count} {history.remaining - 1:,} more. Before it is full, {_BEGIN_ANEW}",)
