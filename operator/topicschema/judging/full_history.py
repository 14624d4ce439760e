"""Messages about a topic whose record has no room for another version, or soon will have none.

Webhook and controller give the same reason; `core.plan` writes nothing then.
"""

from topicschema.core.alignment import Alignment, HistoryBehind
from topicschema.core.errors import StalledAtBrokerError, StalledError
from topicschema.core.history import WARNED_FROM, History
from topicschema.core.verdict import Outcome, Verdict

REASON = "HistoryFull"
_MOVE = "take another topic, or, once nobody needs the messages of the earlier versions,"
_BEGIN_ANEW = f"{_MOVE} delete this resource with deletionPolicy: Delete and create it anew"


def refusal(history: History, verdict: Verdict | None) -> StalledError | None:
    """Return why the candidate cannot become the next version, or None where the record has room or needs none."""
    if verdict is None or verdict.outcome is not Outcome.NEXT_VERSION or history.room > 0:
        return None
    message = f"the record of topic {history.key.topic} has {len(history.entries):,} versions, as many as it takes"
    return StalledError(REASON, f"{message}; {_BEGIN_ANEW}. A schema that is on record still passes")


def refusal_of_broker(history: History, found: Alignment) -> StalledError | None:
    """Return why what the broker has cannot come on record, or None where it can."""
    if not isinstance(found, HistoryBehind) or found.history.room >= 0:
        return None
    message = (
        f"with what the broker has, the record of topic {history.key.topic} would have {len(found.history.entries):,} "
        f"versions, {-found.history.room:,} more than it takes"
    )
    advice = _BEGIN_ANEW if history.entries else f"{_MOVE} delete the topic's schemas at the broker"
    return StalledAtBrokerError(REASON, f"{message}; {advice}")


def warnings(history: History, verdict: Verdict) -> tuple[str, ...]:
    """Return a warning where the candidate becomes one of the last versions that the record takes."""
    if verdict.outcome is not Outcome.NEXT_VERSION or len(history.entries) < WARNED_FROM:
        return ()
    count = f"the record of this topic has {len(history.entries):,} versions; after this one it takes"
    return (f"{count} {history.room - 1:,} more. Before it is full, {_BEGIN_ANEW}",)
