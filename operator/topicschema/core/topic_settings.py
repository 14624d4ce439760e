"""A topic's own settings at the broker: the next write, its order, and what to restore.

Pure functions. The history gets the original value before the first write, so that a crash in between loses nothing. If
the operator wrote a value and no field names it any more, its original is restored first, if the broker still has it. A
topic that does not exist has no settings, and the operator creates no topics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from topicschema.core.history import History, StoredTopicSettings
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy

_UNSET: Final = {"strategy": Strategy.UNDEFINED, "enforces_validation": False}
"""The settings, each with the value to write to unset it."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Write these values of the topic's own settings into the history."""

    stored: StoredTopicSettings


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """Write these settings of the topic at the broker; None leaves one as it is."""

    settings: TopicSettings


SettingsAction = StoreSettings | WriteSettings


@dataclass(frozen=True, slots=True)
class TopicSettingsState:
    """The desired settings of the topic (None: not managed), those at the broker, and the stored ones.

    `current` is None for a topic that does not exist.
    """

    desired: TopicSettings
    current: TopicSettings | None
    stored: StoredTopicSettings | None = None

    def after(self, written: TopicSettings) -> "TopicSettingsState":
        """Return the same after these settings were written."""
        return replace(self, current=_after(self.current or TopicSettings(), _named(written)))

    @property
    def waits_for_topic(self) -> bool:
        """True if a setting is desired that only an existing topic can have, and that it has not by itself."""
        return self.lacks_strategy or (self.current is None and self.desired.enforces_validation is True)

    @property
    def lacks_strategy(self) -> bool:
        """True if a strategy is desired for a topic that does not exist."""
        return self.current is None and self.desired.strategy not in (None, Strategy.UNDEFINED)

    @property
    def unmanaged_strategy(self) -> Strategy | None:
        """The topic's own strategy at the broker, which no field sets."""
        return self.current.strategy if self.current is not None and self.desired.strategy is None else None


def restore(state: TopicSettingsState) -> SettingsAction | None:
    """Return the next step to the original values of settings that the operator wrote and no field sets any more.

    The operator leaves alone what another client has set since.
    """
    stored, current = state.stored, state.current or TopicSettings()
    if stored is None:
        return None
    desired = _named(state.desired)
    released = {each: value for each, value in _named(stored.written).items() if desired.get(each) != value}
    change = {
        each: original
        for each, value in released.items()
        if (original := _original(stored.original, each)) != value and _after(current, {each: value}) == current
    }
    if change and state.current is not None:
        return WriteSettings(replace(TopicSettings(), **change))
    if not released:
        return None
    originals = replace(stored.original, **{each: getattr(current, each) for each in released})
    return StoreSettings(StoredTopicSettings(originals, replace(stored.written, **dict.fromkeys(released))))


def apply(state: TopicSettingsState, *, is_before_schema: bool) -> SettingsAction | None:
    """Return the next step to the desired settings, or None.

    The strategy is written before the schema that it is to admit. Enforcement is written after it, because no schema is
    judged by it.
    """
    current, stored = state.current, state.stored
    if current is None:
        return None
    change = {each: value for each, value in _named(state.desired).items() if _after(current, {each: value}) != current}
    if is_before_schema:
        change.pop("enforces_validation", None)
    if not change:
        is_news = stored is None and current.strategy is not None and not is_before_schema
        return StoreSettings(StoredTopicSettings(current)) if is_news else None
    known = stored or StoredTopicSettings(current)
    fresh = {each: getattr(current, each) for each in change if getattr(known.written, each) is None}
    noted = StoredTopicSettings(replace(known.original, **fresh), replace(known.written, **change))
    return WriteSettings(replace(TopicSettings(), **change)) if noted == stored else StoreSettings(noted)


def with_own_strategy(history: History, state: TopicSettingsState) -> History:
    """Return the history with the topic's own strategy. From then on each reconcile reads it."""
    current = state.current
    if history.topic_settings is not None or current is None or current.strategy is None:
        return history
    return replace(history, topic_settings=StoredTopicSettings(current))


def _named(settings: TopicSettings) -> dict[str, Any]:
    """Return the settings that have a value."""
    values = {each: getattr(settings, each) for each in _UNSET}
    return {each: value for each, value in values.items() if value is not None}


def _original(originals: TopicSettings, name: str) -> Any:
    """Return the value to write to restore a setting. Enforcement cannot be unset."""
    value = getattr(originals, name)
    return _UNSET[name] if value is None else value


def _after(current: TopicSettings, written: Mapping[str, Any]) -> TopicSettings:
    settings = replace(current, **written)
    return replace(settings, strategy=None) if settings.strategy is Strategy.UNDEFINED else settings
