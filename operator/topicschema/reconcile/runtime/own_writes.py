"""The operator's own writes, whose events need no reconcile."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from topicschema.reconcile.runtime.work_queue import Key


class OwnWrites:
    """The revisions at which objects were last read or written."""

    def __init__(self) -> None:
        self._known: dict[Key, str] = {}
        # One set of revisions for each pending write.
        self._pending: dict[Key, list[set[str]]] = {}

    def record(self, key: Key, revision: str) -> None:
        """Record the revision at which the object was read or written. Its event needs no reconcile."""
        self._known[key] = revision

    def forget(self, key: Key) -> None:
        """Remove a deleted object."""
        self._known.pop(key, None)

    def is_external(self, key: Key, revision: str) -> bool:
        """Return True if a revision is not recorded. During a write, return False: `suppress` decides at its end."""
        if key in self._pending:
            for revisions in self._pending[key]:
                revisions.add(revision)
            return False
        return self._known.get(key) != revision

    @contextmanager
    def suppress(self, key: Key, enqueue: Callable[[], None]) -> Iterator[None]:
        """Suppress events of `key` during a write, because they may arrive before its answer.

        At the end, call `enqueue` if an event had another revision than the written one.
        """
        revisions: set[str] = set()
        self._pending.setdefault(key, []).append(revisions)
        try:
            yield
        finally:
            self._pending[key] = [other for other in self._pending[key] if other is not revisions]
            if not self._pending[key]:
                del self._pending[key]
            if revisions - {self._known.get(key)}:
                enqueue()
