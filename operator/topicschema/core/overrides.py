"""A topic's own settings at the broker: what to write next, in which order, and what to put back.

Pure. On record first, at the broker then: what was found there, and while a schema is to follow, what to put back when
the broker refuses it. A topic that does not exist has no settings, and nobody here makes it exist.
"""

from dataclasses import dataclass, replace

from topicschema.core.history import History, PendingTopicSettings, TopicSettingsRecord
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy


@dataclass(frozen=True, slots=True)
class NoteSettings:
    """Put on record what was found of the topic's own settings, and what is about to become of them."""

    record: TopicSettingsRecord


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """Write these settings of the topic at the broker; None leaves one as it is."""

    settings: TopicSettings


Step = NoteSettings | WriteSettings


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the resource wants of the topic's own settings (None: not managed), what is there, what is on record.

    `there` is None for a topic that does not exist.
    """

    wanted: TopicSettings
    there: TopicSettings | None
    record: TopicSettingsRecord | None = None

    def after(self, written: TopicSettings) -> "Overrides":
        """Return the same after these settings were written."""
        there = self.there or TopicSettings()
        if written.strategy is not None:
            there = replace(there, strategy=None if written.strategy is Strategy.UNDEFINED else written.strategy)
        if written.enforces_validation is not None:
            there = replace(there, enforces_validation=written.enforces_validation)
        return replace(self, there=there)

    @property
    def waits_for_topic(self) -> bool:
        """Whether something is wanted that only an existing topic can have, and that it has not by itself."""
        return self.lacks_strategy or (self.there is None and self.wanted.enforces_validation is True)

    @property
    def lacks_strategy(self) -> bool:
        """Whether a strategy is wanted for a topic that does not exist."""
        return self.there is None and self.wanted.strategy not in (None, Strategy.UNDEFINED)

    @property
    def is_withdrawn(self) -> bool:
        """Whether a change is under way that is wanted no more: its schema never came, no field names its strategy."""
        pending = None if self.record is None else self.record.pending
        return pending is not None and pending.wanted.strategy is not self.wanted.strategy

    @property
    def left_behind(self) -> Strategy | None:
        """The topic's own strategy at the broker, of which the resource says nothing (any more)."""
        return self.there.strategy if self.there is not None and self.wanted.strategy is None else None

    @property
    def left_enforced(self) -> bool:
        """Whether the broker enforces validation on the topic, which was written here once and is wanted no more."""
        if self.there is None or self.record is None or self.wanted.enforces_validation is not None:
            return False
        return self.record.written.enforces_validation is not None and bool(self.there.enforces_validation)


def toward(overrides: Overrides, *, is_before_schema: bool) -> Step | None:
    """The next step to what is wanted, or None.

    The strategy comes before the schema that it is to let in. Enforcement comes after: no schema is judged by it, and
    it could never be unset again. What was written for an edit that is withdrawn is put back before all else: the next
    schema would be let in by it, and where the next edit names another strategy, the record knows one change at a time.
    """
    if overrides.is_withdrawn:
        return back(overrides)
    there, record = overrides.there, overrides.record
    if there is None:
        return None
    wish = _wish(overrides.wanted, there, is_before_schema=is_before_schema)
    if wish == TopicSettings():
        return None if is_before_schema else _concluded(record, there)
    noted = _noted(record, there, wish, is_before_schema=is_before_schema)
    return WriteSettings(wish) if noted == record else NoteSettings(noted)


def back(overrides: Overrides) -> Step | None:
    """The next step to what was there before the change that is under way; None when none is.

    What is neither that nor what we wrote, somebody else has set meanwhile: it stays.
    """
    there, record = overrides.there, overrides.record
    if record is None or record.pending is None:
        return None
    before = record.pending.before.strategy or Strategy.UNDEFINED
    if there is not None and _strategy(there) is not before:
        is_ours = _strategy(there) is record.pending.wanted.strategy
        return WriteSettings(TopicSettings(strategy=before)) if is_ours else NoteSettings(replace(record, pending=None))
    return NoteSettings(replace(record, written=replace(record.written, strategy=before), pending=None))


def noting(history: History, overrides: Overrides) -> History:
    """The record, which from now on tells that the topic has a strategy of its own: each look asks for it then."""
    there = overrides.there
    if history.topic_settings is not None or there is None or there.strategy is None:
        return history
    return replace(history, topic_settings=TopicSettingsRecord(there))


def _wish(wanted: TopicSettings, there: TopicSettings, *, is_before_schema: bool) -> TopicSettings:
    strategy, enforces = wanted.strategy, wanted.enforces_validation
    is_enforcement_due = not is_before_schema and enforces is not there.enforces_validation
    return TopicSettings(
        strategy=None if strategy is _strategy(there) else strategy,
        enforces_validation=enforces if is_enforcement_due else None,
    )


def _noted(
    record: TopicSettingsRecord | None, there: TopicSettings, wish: TopicSettings, *, is_before_schema: bool
) -> TopicSettingsRecord:
    known = record or TopicSettingsRecord(there)
    found = TopicSettings(
        strategy=there.strategy if known.written.strategy is None else known.found.strategy,
        enforces_validation=(
            there.enforces_validation if known.written.enforces_validation is None else known.found.enforces_validation
        ),
    )
    written = TopicSettings(
        strategy=wish.strategy or known.written.strategy,
        enforces_validation=(
            known.written.enforces_validation if wish.enforces_validation is None else wish.enforces_validation
        ),
    )
    pending = known.pending
    if pending is None and is_before_schema and wish.strategy is not None:
        pending = PendingTopicSettings(TopicSettings(there.strategy), TopicSettings(wish.strategy))
    return TopicSettingsRecord(found, written, pending)


def _concluded(record: TopicSettingsRecord | None, there: TopicSettings) -> Step | None:
    """Nothing is under way any more; and what was there by itself is known once no field names it any more."""
    if record is None:
        return None if there.strategy is None else NoteSettings(TopicSettingsRecord(there))
    return None if record.pending is None else NoteSettings(replace(record, pending=None))


def _strategy(settings: TopicSettings) -> Strategy:
    return settings.strategy or Strategy.UNDEFINED
