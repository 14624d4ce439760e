"""A bounded memory for what is dear to make and can never be stale."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Values by key within a bound of weight, least recently used out first. One event loop uses it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._weight = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, if it is kept."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        return kept[0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Keep the value, and drop others until all fit."""
        replaced = self._kept.pop(key, None)
        self._weight += weight - (replaced[1] if replaced else 0)
        self._kept[key] = (value, weight)
        while self._weight > self._limit:
            _, (_, dropped) = self._kept.popitem(last=False)
            self._weight -= dropped
