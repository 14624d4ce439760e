"""The settings of Pulsar namespaces that another client changes after the operator wrote them.

The data is in memory: it ends with the process, with an edit of the policy's spec, and with time.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from topicschema.core.remote import Setting
from topicschema.reconcile.runtime.work_queue import Key

_CHANGES: Final = 3
_SECONDS: Final = 600.0


@dataclass(slots=True)
class _Policy:
    """The settings in sync at the last reconcile, and the times of their changes, for one generation of a policy."""

    generation: int
    in_sync: set[Setting] = field(default_factory=set)
    changes: dict[Setting, list[float]] = field(default_factory=dict)


class SettingDrift:
    """The recent changes by other clients of the settings of all policies."""

    def __init__(self) -> None:
        self._policies: dict[Key, _Policy] = {}

    def contested(self, key: Key, generation: int, differing: Collection[Setting], now: float) -> tuple[Setting, ...]:
        """Return those of the differing settings that others changed three times in the last ten minutes."""
        policy = self._policies.get(key)
        if policy is None or policy.generation != generation:
            policy = self._policies[key] = _Policy(generation)
        for setting in policy.in_sync.intersection(differing):
            policy.changes.setdefault(setting, []).append(now)
        policy.in_sync.difference_update(differing)
        for setting, times in policy.changes.items():
            policy.changes[setting] = [each for each in times if now - each < _SECONDS]
        return tuple(each for each in differing if len(policy.changes.get(each, ())) >= _CHANGES)

    def mark_in_sync(self, key: Key, settings: Collection[Setting]) -> None:
        """Store that the broker has these settings of the policy, so that a later difference is another's change."""
        if key in self._policies:
            self._policies[key].in_sync.update(settings)

    def forget(self, key: Key) -> None:
        """Drop the data of the policy."""
        self._policies.pop(key, None)
