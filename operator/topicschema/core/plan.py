"""The next action for a TopicSchema: a pure function of the observed state, which returns () if it is converged.

It returns one action at a time: each reconcile decides the next one from the new state. `reconcile` executes the
action.
"""

from dataclasses import dataclass

from topicschema.core import topic_settings
from topicschema.core.alignment import HistoryAhead, HistoryBehind, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.history import History, Owner, VersionEntry
from topicschema.core.topic_settings import StoreSettings, TopicSettingsState, WriteSettings
from topicschema.core.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Delay the resource's deletion until its history is deleted."""


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Let the API server delete the resource, or no longer delay a later deletion."""


@dataclass(frozen=True, slots=True)
class ClaimTopic:
    """Write `owner` as the topic's owner into the history, and the sources that its version is compiled from."""

    owner: Owner


@dataclass(frozen=True, slots=True)
class Register:
    """Add the candidate to the history as the next version, owned by `owner`, in one write. Without a broker."""

    owner: Owner


@dataclass(frozen=True, slots=True)
class Import:
    """Replace the history with `history`, which equals the broker's versions; `new_versions` is what is new in it."""

    history: History
    new_versions: tuple[VersionEntry, ...]


@dataclass(frozen=True, slots=True)
class Upload:
    """Upload the candidate to the broker, and read the broker's versions."""


@dataclass(frozen=True, slots=True)
class UploadMissing:
    """Upload, in order, versions that were registered without a broker."""

    missing: tuple[VersionEntry, ...]


@dataclass(frozen=True, slots=True)
class SoftDelete:
    """Delete the topic's schema at the broker, so that it serves no version of the topic any more."""


@dataclass(frozen=True, slots=True)
class DeleteHistory:
    """Begin a new incarnation of the topic's history, without a claim. The deleted versions stay for comparisons."""


@dataclass(frozen=True, slots=True)
class CreateValidationJob:
    """Create a Job that validates the topic's retained messages with the candidate. `job_limiter` starts it."""


@dataclass(frozen=True, slots=True)
class DeleteObsoleteJobs:
    """Delete the Jobs of obsolete requests."""


Action = (
    AddFinalizer
    | RemoveFinalizer
    | ClaimTopic
    | Register
    | Import
    | Upload
    | UploadMissing
    | StoreSettings
    | WriteSettings
    | CreateValidationJob
    | DeleteObsoleteJobs
)
DeletionAction = RemoveFinalizer | WriteSettings | SoftDelete | DeleteHistory


@dataclass(frozen=True, slots=True)
class Validation:
    """The state of the validation of retained messages.

    `holds_back` is True if the candidate may not become a version, because its validation has not succeeded.
    `needs_job` is True if a Job is to be created for it. `has_obsolete_jobs` is True if there are Jobs of other
    requests.
    """

    holds_back: bool = False
    needs_job: bool = False
    has_obsolete_jobs: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    """The state of a topic as one reconcile observed it.

    `owner` is the resource itself. `verdict` is None if nothing was judged, because the history lacks versions of the
    broker. `is_source_stored` is False if the history does not map these sources to the verdict's version yet.
    `is_record_full` is True if the policy's histories take all the bytes that they may. `fingerprint` is the
    candidate's. `broker` is None if there is none, `validation` if no messages are validated.
    """

    owner: Owner
    history: History
    verdict: Verdict | None = None
    deletes_history: bool = False
    has_finalizer: bool = False
    is_source_stored: bool = True
    is_record_full: bool = False
    fingerprint: str = ""
    broker: BrokerState | None = None
    validation: Validation | None = None


def plan(observed: Observed) -> tuple[Action, ...]:
    """Return the next action, or () if there is nothing to do.

    A topic that another resource owns is never planned: the caller checks before judging if that owner still exists.
    """
    if observed.broker is not None and not isinstance(observed.broker.alignment, InSync):
        return _align(observed, observed.broker)
    return _proceed(observed)


def plan_deletion(history: History | None, broker: BrokerState | None) -> DeletionAction:
    """Return the next action of a deletion.

    `history` is what the resource deletes with it, None if nothing (any more).
    """
    if history is None:
        return RemoveFinalizer()
    step = None if broker is None or broker.topic_settings is None else topic_settings.restore(broker.topic_settings)
    if isinstance(step, WriteSettings):  # what is stored would be deleted next
        return step
    return SoftDelete() if broker is not None and broker.is_serving else DeleteHistory()


def _proceed(observed: Observed) -> tuple[Action, ...]:
    """Return the next action if the history needs no alignment: to settle the topic, then to validate its messages."""
    return () if observed.verdict is None else _settle(observed, observed.verdict) or _validate(observed)


def _validate(observed: Observed) -> tuple[Action, ...]:
    """Return the next action of the validation: after all others, because it may take hours."""
    if observed.validation is None:
        return ()
    if observed.validation.has_obsolete_jobs:
        return (DeleteObsoleteJobs(),)
    return (CreateValidationJob(),) if observed.validation.needs_job else ()


def _align(observed: Observed, broker: BrokerState) -> tuple[Action, ...]:
    """Return the action that aligns history and broker, which precedes all others.

    The broker counts, the history copies.
    """
    match broker.alignment:
        case HistoryBehind(history, added) if history.remaining < 0 or (added and observed.is_record_full):
            return _hold_deletion(observed, may_claim=False)
        case HistoryBehind(history, new_versions):
            return (Import(_with_candidate(observed, history), new_versions),)
        case HistoryAhead(missing) if broker.may_write:
            if broker.refused is not None:
                return _restore(broker)
            return _write_settings(broker, is_before_schema=True) or (UploadMissing(missing),)
        case HistoryAhead():
            return _proceed(observed)
        case _:
            return ()


def _with_candidate(observed: Observed, history: History) -> History:
    """Return the new history. If the candidate is in it, the resource claims it."""
    is_held = observed.deletes_history and not observed.has_finalizer
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
    """Delay the resource's deletion while its own or a claimable history is deleted with it. Otherwise end it."""
    if observed.has_finalizer and not observed.deletes_history:
        return (RemoveFinalizer(),)
    is_ours = observed.history.claim == observed.owner
    if observed.deletes_history and not observed.has_finalizer and (is_ours or may_claim):
        # Before the first write: without it, a history would outlive a resource that must delete it.
        return (AddFinalizer(),)
    return ()


def _is_held_back(observed: Observed, verdict: Verdict) -> bool:
    """Return True if history or record is full, or validation blocks the version. None blocks a stored version."""
    if verdict.outcome is not Outcome.NEXT_VERSION:
        return False
    is_full = observed.is_record_full or observed.history.remaining <= 0
    return is_full or (observed.validation is not None and observed.validation.holds_back)


def _claim(observed: Observed) -> tuple[Action, ...]:
    is_ours = observed.history.claim == observed.owner
    return () if is_ours and observed.is_source_stored else (ClaimTopic(observed.owner),)


def _advance_at_broker(observed: Observed, broker: BrokerState, verdict: Verdict) -> tuple[Action, ...]:
    is_next = verdict.outcome is Outcome.NEXT_VERSION
    if broker.refused is not None and is_next:
        return ()
    # Before the upload, or without one: if two resources claim one topic, the history's compare-and-swap selects one.
    claim = () if is_next and observed.history.claim == observed.owner else _claim(observed)
    if claim or not broker.may_write:
        return claim
    settings = broker.topic_settings
    if settings is not None and settings.waits_for_topic and (not is_next or has_to_wait(observed.history, settings)):
        return ()
    return _write_settings(broker, is_before_schema=is_next) or ((Upload(),) if is_next else ())


def has_to_wait(history: History, settings: TopicSettingsState | None) -> bool:
    """Return True if the next version waits for its topic, because the broker judges it by the topic's own settings.

    A broker accepts a first version whatever the strategy, so that these need not exist yet.
    """
    return settings is not None and settings.waits_for_topic and bool(history.active_versions)


def _restore(broker: BrokerState | None) -> tuple[Action, ...]:
    """Return the step that restores what no field sets any more. It is first, because the broker judges by it."""
    if broker is None or broker.topic_settings is None or not broker.may_write:
        return ()
    step = topic_settings.restore(broker.topic_settings)
    return () if step is None else (step,)


def _write_settings(broker: BrokerState, *, is_before_schema: bool) -> tuple[Action, ...]:
    settings = broker.topic_settings
    if settings is None:
        return ()
    step = topic_settings.restore(settings) or topic_settings.apply(settings, is_before_schema=is_before_schema)
    return () if step is None else (step,)
