"""What to do next about a TopicSchema: a pure function from what was observed to the next action; () when converged.

One action at a time: what comes after it is decided anew, from the world that it made. `reconcile` carries it out.
"""

from dataclasses import dataclass

from topicschema.core import overrides
from topicschema.core.alignment import HistoryAhead, HistoryBehind, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.history import History, Owner, VersionEntry
from topicschema.core.overrides import Overrides, RecordSettings, WriteSettings
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
    """Start a Job that validates the topic's retained messages with the candidate."""


@dataclass(frozen=True, slots=True)
class StopValidation:
    """Delete the Jobs of obsolete requests."""


Action = (
    AddFinalizer
    | RemoveFinalizer
    | Claim
    | Register
    | Import
    | Upload
    | UploadRecorded
    | RecordSettings
    | WriteSettings
    | StartValidation
    | StopValidation
)
DeletionAction = RemoveFinalizer | WriteSettings | SoftDelete | DeleteRecord


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
    """The state of a topic as one reconcile gathered it.

    `owner` is the resource itself. `verdict` is None if nothing was judged, because the history lacks what the
    broker has. `is_source_on_record` is False if the history does not have yet that these sources are
    compiled to the version that the verdict found. `fingerprint` is the candidate's. `broker` is None if there is none,
    `validation` if no messages are validated.
    """

    owner: Owner
    history: History
    verdict: Verdict | None = None
    deletes_record: bool = False
    has_finalizer: bool = False
    is_source_on_record: bool = True
    fingerprint: str = ""
    broker: BrokerState | None = None
    validation: Validation | None = None


def plan(observed: Observed) -> tuple[Action, ...]:
    """Return the next action, or () if there is nothing to do.

    A topic that another resource holds never comes here: whether the holder still exists is checked before judging.
    """
    if observed.broker is not None and not isinstance(observed.broker.alignment, InSync):
        return _align(observed, observed.broker)
    return () if observed.verdict is None else _settle(observed, observed.verdict) or _validate(observed)


def plan_deletion(history: History | None, broker: BrokerState | None) -> DeletionAction:
    """Return the next action of a deletion; `history` is what the resource takes along, None if nothing (any more)."""
    if history is None:
        return RemoveFinalizer()
    step = None if broker is None or broker.overrides is None else overrides.restore(broker.overrides)
    if isinstance(step, WriteSettings):  # a record of it would be deleted next
        return step
    return SoftDelete() if broker is not None and broker.is_serving else DeleteRecord()


def _validate(observed: Observed) -> tuple[Action, ...]:
    """Return the next action of the validation: after all others, because it may take hours."""
    if observed.validation is None:
        return ()
    if observed.validation.has_obsolete_jobs:
        return (StopValidation(),)
    return (StartValidation(),) if observed.validation.needs_job else ()


def _align(observed: Observed, broker: BrokerState) -> tuple[Action, ...]:
    """The broker counts, the record copies: before anything else both tell the same."""
    match broker.alignment:
        case HistoryBehind(history) if history.room < 0:
            return _hold_deletion(observed, may_claim=False)
        case HistoryBehind(history, arrived):
            return (Import(_with_candidate(observed, history), arrived),)
        case HistoryAhead(missing) if broker.may_write:
            if broker.refused is not None:
                return _restore(broker)
            return _write_settings(broker, is_before_schema=True) or (UploadRecorded(missing),)
        case HistoryAhead() if observed.verdict is not None:
            return _settle(observed, observed.verdict)
        case _:
            return ()


def _with_candidate(observed: Observed, history: History) -> History:
    """Return the history to be; if the candidate is in it, the resource claims it."""
    is_held = observed.deletes_record and not observed.has_finalizer
    if is_held or history.equal_to(observed.fingerprint) is None:
        return history
    return history.claimed_by(observed.owner)


def _settle(observed: Observed, verdict: Verdict) -> tuple[Action, ...]:
    step = _hold_deletion(observed, may_claim=verdict.is_compatible) or _restore(observed.broker)
    if step or not verdict.is_compatible or _is_held_back(observed, verdict):
        return step
    if observed.broker is not None:
        return _advance_at_broker(observed, observed.broker, verdict)
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


def _advance_at_broker(observed: Observed, broker: BrokerState, verdict: Verdict) -> tuple[Action, ...]:
    is_next = verdict.outcome is Outcome.NEXT_VERSION
    if broker.refused is not None and is_next:
        return ()
    # Before the upload, or without one: of two that want one topic, the record's compare-and-swap lets one be.
    claim = () if is_next and observed.history.claim == observed.owner else _claim(observed)
    if claim or not broker.may_write:
        return claim
    settings = broker.overrides
    if settings is not None and settings.waits_for_topic and (not is_next or has_to_wait(observed.history, settings)):
        return ()
    return _write_settings(broker, is_before_schema=is_next) or ((Upload(),) if is_next else ())


def has_to_wait(history: History, settings: Overrides | None) -> bool:
    """Whether the next version waits for its topic to exist: for settings of its own, by which the broker is to judge.

    A first version it takes whatever the strategy, so that these need not be there yet.
    """
    return settings is not None and settings.waits_for_topic and bool(history.trimmed)


def _restore(broker: BrokerState | None) -> tuple[Action, ...]:
    """Return the step that restores what no field names any more: before all else, for the broker judges by it."""
    if broker is None or broker.overrides is None or not broker.may_write:
        return ()
    step = overrides.restore(broker.overrides)
    return () if step is None else (step,)


def _write_settings(broker: BrokerState, *, is_before_schema: bool) -> tuple[Action, ...]:
    if broker.overrides is None:
        return ()
    step = overrides.restore(broker.overrides) or overrides.apply(broker.overrides, is_before_schema=is_before_schema)
    return () if step is None else (step,)
