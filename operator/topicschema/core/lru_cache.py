"""A bounded cache for values that are costly to make or to read, and never change."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A cache with a limit of total weight; it drops the least recently used values first. One event loop uses it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._weight = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value, if it is cached."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Store the value, and drop others until all fit; one that alone exceeds the limit is not stored."""
        if weight > self._limit:
            return
        replaced = self._entries.pop(key, None)
        self._weight += weight - (replaced[1] if replaced else 0)
        self._entries[key] = (value, weight)
        while self._weight > self._limit:
            _, (_, dropped) = self._entries.popitem(last=False)
            self._weight -= dropped
