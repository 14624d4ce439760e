"""What to do next about a TopicSchema: a pure function from what was observed to the next action; () when converged.

One action at a time: what comes after it is decided anew, from the world that it made. `reconcile` carries it out.
"""

from dataclasses import dataclass, replace

from topicschema.core import overrides
from topicschema.core.alignment import Ahead, Aligned, Alignment, Behind
from topicschema.core.history import History, Owner, VersionEntry
from topicschema.core.overrides import NoteSettings, Overrides, WriteSettings
from topicschema.core.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Hold the resource's deletion until its record is removed."""


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Let the resource go, or no longer hold its later deletion."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Write `owner` as the holder of the topic into the history, and the sources that its version is compiled from."""

    owner: Owner


@dataclass(frozen=True, slots=True)
class Register:
    """Put the candidate on record as the next version, held by `owner`: one write of the history. Without a broker."""

    owner: Owner


@dataclass(frozen=True, slots=True)
class Import:
    """Make the record `history`, which tells what the broker has; `arrived` is what is new in it."""

    history: History
    arrived: tuple[VersionEntry, ...]


@dataclass(frozen=True, slots=True)
class Upload:
    """Have the broker add the candidate, and look at what it then has."""


@dataclass(frozen=True, slots=True)
class UploadRecorded:
    """Have the broker add, in order, versions that were registered while there was no broker."""

    missing: tuple[VersionEntry, ...]


@dataclass(frozen=True, slots=True)
class SoftDelete:
    """Have the broker serve no version of the topic any more."""


@dataclass(frozen=True, slots=True)
class DeleteRecord:
    """Remove the topic's history and payloads."""


@dataclass(frozen=True, slots=True)
class StartValidation:
    """Create the Job that reads the topic's retained messages with the candidate."""


@dataclass(frozen=True, slots=True)
class StopValidation:
    """Delete the Jobs of requests that are obsolete."""


Action = (
    AddFinalizer
    | RemoveFinalizer
    | Claim
    | Register
    | Import
    | Upload
    | UploadRecorded
    | NoteSettings
    | WriteSettings
    | SoftDelete
    | DeleteRecord
    | StartValidation
    | StopValidation
)


@dataclass(frozen=True, slots=True)
class Remote:
    """What was seen at the broker, where there is one.

    `may_write` is False where it is only observed. `overrides` is None where neither resource nor record says anything
    of the topic's own settings, or where the broker has switched them off. `is_refused`: the broker has refused the
    candidate, and what was done for it is to be undone. `is_serving` counts at a deletion: versions of the resource's
    are served, which a soft delete is to hide.
    """

    alignment: Alignment
    may_write: bool = True
    overrides: Overrides | None = None
    is_refused: bool = False
    is_serving: bool = False


@dataclass(frozen=True, slots=True)
class Validation:
    """The state of the validation of retained messages.

    `holds_back`: the candidate may not become a version, because the messages have not passed. `needs_job`: a Job is
    to be created for it. `has_obsolete_jobs`: there are Jobs of other requests.
    """

    holds_back: bool = False
    needs_job: bool = False
    has_obsolete_jobs: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """What one pass saw.

    `owner` is the resource itself. `verdict` is None where nothing was judged: a resource that is suspended or being
    deleted, or a record that does not tell yet what the broker has. `is_on_record` tells a history that is stored from
    one that nobody wrote yet. `deletes_record` is deletionPolicy Delete, `is_released` that it no longer holds.
    `is_source_on_record` is False where the record does not tell yet that the version which the verdict found is what
    these sources are compiled to. `fingerprint` is the candidate's; `remote` is None where there is no broker,
    `validation` where no messages are validated.
    """

    owner: Owner
    history: History
    is_on_record: bool
    verdict: Verdict | None = None
    is_being_deleted: bool = False
    is_suspended: bool = False
    deletes_record: bool = False
    has_finalizer: bool = False
    is_source_on_record: bool = True
    fingerprint: str = ""
    remote: Remote | None = None
    is_released: bool = False
    validation: Validation | None = None


def plan(observed: Observed) -> tuple[Action, ...]:
    """The next action, or () when there is nothing to do.

    A topic that somebody else holds never comes here: whether the holder still exists is asked before judging.
    """
    if observed.is_being_deleted:
        return _plan_deletion(observed)
    if observed.is_suspended:
        return ()
    if observed.remote is not None and not isinstance(observed.remote.alignment, Aligned):
        return _align(observed, observed.remote)
    return () if observed.verdict is None else _settle(observed, observed.verdict) or _validate(observed)


def _validate(observed: Observed) -> tuple[Action, ...]:
    """Return the action after all others, because a Job may take hours."""
    if observed.validation is None:
        return ()
    if observed.validation.has_obsolete_jobs:
        return (StopValidation(),)
    return (StartValidation(),) if observed.validation.needs_job else ()


def _align(observed: Observed, remote: Remote) -> tuple[Action, ...]:
    """The broker counts, the record copies: before anything else both tell the same."""
    match remote.alignment:
        case Behind(history) if history.room < 0:
            return _hold_deletion(observed, may_claim=False)
        case Behind(history, arrived):
            return (Import(_with_candidate(observed, history, arrived), arrived),)
        case Ahead(missing) if remote.may_write:
            if remote.is_refused:
                return _undo(observed)
            step = None if remote.overrides is None else overrides.toward(remote.overrides, is_before_schema=True)
            return (UploadRecorded(missing) if step is None else step,)
        case Ahead() if observed.verdict is not None:
            return _settle(observed, observed.verdict)
        case _:
            return ()


def _with_candidate(observed: Observed, history: History, arrived: tuple[VersionEntry, ...]) -> History:
    """The record to be; where the candidate is in it, it is the resource's.

    Once the candidate has come, no change of settings is under way for it. One that is withdrawn was for another
    candidate, whoever brought this one, and so was any where the broker has switched settings off.
    """
    if history.equal_to(observed.fingerprint) is None:
        return history
    settings, has_come = history.topic_settings, any(each.fingerprint == observed.fingerprint for each in arrived)
    changed = None if observed.remote is None else observed.remote.overrides
    is_for_it = changed is not None and not changed.is_withdrawn
    if has_come and is_for_it and settings is not None and settings.pending is not None:
        history = replace(history, topic_settings=replace(settings, pending=None))
    is_held = observed.deletes_record and not observed.has_finalizer
    return history if is_held else history.claimed_by(observed.owner)


def _settle(observed: Observed, verdict: Verdict) -> tuple[Action, ...]:
    step = _hold_deletion(observed, may_claim=verdict.is_compatible)
    if step:
        return step
    if not verdict.is_compatible or _is_held_back(observed, verdict):
        return _undo(observed)
    if observed.remote is not None:
        return _advance_at_broker(observed, observed.remote, verdict)
    return (Register(observed.owner),) if verdict.outcome is Outcome.NEXT_VERSION else _claim(observed)


def _hold_deletion(observed: Observed, *, may_claim: bool) -> tuple[Action, ...]:
    """Hold the resource's deletion while its record, or one that it may claim, goes with it; else no more."""
    if observed.has_finalizer and not observed.deletes_record:
        return (RemoveFinalizer(),)
    is_ours = observed.history.claim == observed.owner
    if observed.deletes_record and not observed.has_finalizer and (is_ours or may_claim):
        # Before the first write: a record without it would outlive a resource that promised to take it along.
        return (AddFinalizer(),)
    return ()


def _is_held_back(observed: Observed, verdict: Verdict) -> bool:
    """Return True if the history is full or the gate closed; neither holds back a version that is stored."""
    if verdict.outcome is not Outcome.NEXT_VERSION:
        return False
    return observed.history.room <= 0 or (observed.validation is not None and observed.validation.holds_back)


def _claim(observed: Observed) -> tuple[Action, ...]:
    is_ours = observed.history.claim == observed.owner
    return () if is_ours and observed.is_source_on_record else (Claim(observed.owner),)


def _advance_at_broker(observed: Observed, remote: Remote, verdict: Verdict) -> tuple[Action, ...]:
    is_next = verdict.outcome is Outcome.NEXT_VERSION
    if remote.is_refused and is_next:
        return _undo(observed)
    # Before the upload, or without one: of two that want one topic, the record's compare-and-swap lets one be.
    claim = () if is_next and observed.history.claim == observed.owner else _claim(observed)
    if claim or not remote.may_write:
        return claim
    settings = remote.overrides
    if settings is not None:
        if settings.waits_for_topic and (not is_next or has_to_wait(observed.history, settings)):
            return ()
        step = overrides.toward(settings, is_before_schema=is_next)
        if step is not None:
            return (step,)
    return (Upload(),) if is_next else ()


def has_to_wait(history: History, settings: Overrides | None) -> bool:
    """Whether the next version waits for its topic to exist: for settings of its own, by which the broker is to judge.

    A first version it takes whatever the strategy, so that these need not be there yet.
    """
    return settings is not None and settings.waits_for_topic and bool(history.trimmed)


def _undo(observed: Observed) -> tuple[Action, ...]:
    remote = observed.remote
    if remote is None or remote.overrides is None or not remote.may_write:
        return ()
    step = overrides.back(remote.overrides)
    return () if step is None else (step,)


def _plan_deletion(observed: Observed) -> tuple[Action, ...]:
    if not observed.has_finalizer:
        return ()
    is_ours = observed.is_on_record and observed.history.claim == observed.owner
    # Suspended means that nothing outside is written: the record stays, and the resource is not held back.
    if is_ours and observed.deletes_record and not observed.is_suspended and not observed.is_released:
        remote = observed.remote
        last = SoftDelete() if remote is not None and remote.is_serving else DeleteRecord()
        return _undo(observed) or (last,)
    return (RemoveFinalizer(),)
