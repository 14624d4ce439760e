"""What to do next about a TopicSchema: a pure function from what was observed to the next action; () when converged.

One action at a time: what comes after it is decided anew, from the world that it made. `reconcile` carries it out.
"""

from dataclasses import dataclass

from topicschema.core.history import History, Owner
from topicschema.core.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class AddFinaliser:
    """Hold the resource's deletion until its record is removed."""


@dataclass(frozen=True, slots=True)
class RemoveFinaliser:
    """Let the resource go, or no longer hold its later deletion."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Write `owner` as the holder of the topic into the history, and the sources that its version is compiled from."""

    owner: Owner


@dataclass(frozen=True, slots=True)
class Register:
    """Put the candidate on record as the next version, held by `owner`: one write of the history."""

    owner: Owner


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    """Remove the topic's history and payloads."""


Action = AddFinaliser | RemoveFinaliser | Claim | Register | DeleteRecord


@dataclass(frozen=True, slots=True)
class Observed:
    """What one pass saw.

    `owner` is the resource itself. `verdict` is None where nothing was judged: a resource that is suspended or being
    deleted. `is_on_record` tells a history that is stored from one that nobody wrote yet. `deletes_record` is
    deletionPolicy Delete. `is_source_on_record` is False where the record does not tell yet that the version which the
    verdict found is what these sources are compiled to.
    """

    owner: Owner
    history: History
    is_on_record: bool
    verdict: Verdict | None = None
    is_being_deleted: bool = False
    is_suspended: bool = False
    deletes_record: bool = False
    has_finaliser: bool = False
    is_source_on_record: bool = True


def plan(observed: Observed) -> tuple[Action, ...]:
    """The next action, or () when there is nothing to do.

    A topic that somebody else holds never comes here: whether the holder still exists is asked before judging.
    """
    if observed.is_being_deleted:
        return _farewell(observed)
    if observed.is_suspended or observed.verdict is None:
        return ()
    if observed.has_finaliser and not observed.deletes_record:
        return (RemoveFinaliser(),)
    is_ours = observed.history.claim == observed.owner
    if observed.deletes_record and not observed.has_finaliser and (is_ours or observed.verdict.is_compatible):
        # Before the first write: a record without it would outlive a resource that promised to take it along.
        return (AddFinaliser(),)
    return _advance(observed, observed.verdict) if observed.verdict.is_compatible else ()


def _advance(observed: Observed, verdict: Verdict) -> tuple[Action, ...]:
    if verdict.outcome is Outcome.NEXT_VERSION:
        return (Register(observed.owner),)
    is_ours = observed.history.claim == observed.owner
    return () if is_ours and observed.is_source_on_record else (Claim(observed.owner),)


def _farewell(observed: Observed) -> tuple[Action, ...]:
    if not observed.has_finaliser:
        return ()
    is_ours = observed.is_on_record and observed.history.claim == observed.owner
    # Suspended means that nothing outside is written: the record stays, and the resource is not held back.
    if is_ours and observed.deletes_record and not observed.is_suspended:
        return (DeleteRecord(),)
    return (RemoveFinaliser(),)
