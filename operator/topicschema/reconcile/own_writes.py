"""Which events are only echoes of what was written or read here: they need no second look."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from topicschema.reconcile.work_queue import Key


class Echoes:
    """The revision at which each object was read or written last; "" for one that does not exist."""

    def __init__(self) -> None:
        self._known: dict[Key, str] = {}
        # One set of revisions per write that is under way: two topics may write one record at once.
        self._held: dict[Key, list[set[str]]] = {}

    def know(self, key: Key, revision: str) -> None:
        """The object was seen at `revision`, and what follows from that is being done."""
        self._known[key] = revision

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._known.pop(key, None)

    def is_news(self, key: Key, revision: str) -> bool:
        """Whether an event tells what is not known; while a write is under way the answer waits for its end."""
        if key in self._held:
            for heard in self._held[key]:
                heard.add(revision)
            return False
        return self._known.get(key) != revision

    @contextmanager
    def writing(self, key: Key, enqueue: Callable[[], None]) -> Iterator[None]:
        """Hold back events about `key`, which may come before the answer to the write within.

        `enqueue` is called at its end if they told of anything but the revision that the write led to.
        """
        heard: set[str] = set()
        self._held.setdefault(key, []).append(heard)
        try:
            yield
        finally:
            self._held[key] = [other for other in self._held[key] if other is not heard]
            if not self._held[key]:
                del self._held[key]
            if heard - {self._known.get(key)}:
                enqueue()

    def existing(self, plural: str) -> set[Key]:
        """The objects of a kind that are known to exist."""
        return {key for key, revision in self._known.items() if key.plural == plural and revision}
