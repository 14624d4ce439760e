"""The operator's own writes: their events need no reconcile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from topicschema.reconcile.runtime.work_queue import Key


class OwnWrites:
    """The revisions at which objects were read or written last; "" for one that does not exist."""

    def __init__(self) -> None:
        self._known: dict[Key, str] = {}
        # One set of revisions per write that is under way: two topics may write one record at once.
        self._held: dict[Key, list[set[str]]] = {}

    def record(self, key: Key, revision: str) -> None:
        """Record the revision at which the object was read or written; its event needs no reconcile."""
        self._known[key] = revision

    def forget(self, key: Key) -> None:
        """Forget an object that is gone."""
        self._known.pop(key, None)

    def is_external(self, key: Key, revision: str) -> bool:
        """Return whether a revision is not recorded; during a write, `suppress` decides at its end."""
        if key in self._held:
            for held in self._held[key]:
                held.add(revision)
            return False
        return self._known.get(key) != revision

    @contextmanager
    def suppress(self, key: Key, enqueue: Callable[[], None]) -> Iterator[None]:
        """Hold back events about `key`, which may come before the answer to the write within.

        `enqueue` is called at its end if any was of another revision than the one that was written.
        """
        held: set[str] = set()
        self._held.setdefault(key, []).append(held)
        try:
            yield
        finally:
            self._held[key] = [other for other in self._held[key] if other is not held]
            if not self._held[key]:
                del self._held[key]
            if held - {self._known.get(key)}:
                enqueue()

    def existing(self, plural: str) -> set[Key]:
        """Return the objects of a kind that are known to exist."""
        return {key for key, revision in self._known.items() if key.plural == plural and revision}
