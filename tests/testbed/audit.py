"""The API server's audit log: the requests and their users."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READS = frozenset({"get", "list", "watch"})
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
"""The audit policy of the testbed's API servers."""
_TAIL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """One request that the API server answered (of a watch: one that began); empty strings where nothing applies."""

    user: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    at: str

    @property
    def is_write(self) -> bool:
        """True for every verb but get, list and watch."""
        return self.verb not in READS


def position(log: Path) -> int:
    """Return the end of the log's last whole line: requests after this position came later."""
    if not log.exists():
        return 0
    with log.open("rb") as file:
        start = max(0, file.seek(0, 2) - _TAIL_BYTES)
        file.seek(start)
        return start + file.read().rfind(b"\n") + 1


def requests(log: Path, since: int = 0, user: str | None = None) -> list[Request]:
    """Return the requests after the position `since`, oldest first, of one user or of all.

    A user is `system:serviceaccount:NS:NAME`. A request is in the log a moment after its response; `settled` waits.
    """
    return [request for request in _parsed(log, since) if user is None or request.user == user]


def writes(log: Path, since: int = 0, user: str | None = None) -> list[Request]:
    """Return as `requests`, without get, list and watch."""
    return [request for request in requests(log, since, user) if request.is_write]


def settled(log: Path, quiet: float = 0.3, counts: Callable[[Request], bool] = lambda _: True) -> int:
    """Return the log's end once no counted request was added for `quiet` seconds, or after ten times as long."""
    end = position(log)
    for _ in range(10):
        time.sleep(quiet)
        before, end = end, position(log)
        if not any(map(counts, _parsed(log, before))):
            break
    return end


def _parsed(log: Path, since: int) -> Iterator[Request]:
    if not log.exists():
        return
    with log.open("rb") as file:
        file.seek(since)
        for line in file:
            if line.endswith(b"\n"):  # the last line may be on its way
                event = json.loads(line)
                if event["stage"] in {"ResponseComplete", "ResponseStarted", "Panic"} and not _is_watch_end(event):
                    yield _request(event)


def _is_watch_end(event: dict[str, Any]) -> bool:
    return (event["verb"], event["stage"]) == ("watch", "ResponseComplete")


def _request(event: dict[str, Any]) -> Request:
    reference = event.get("objectRef", {})
    return Request(
        user=event["user"].get("username", ""),
        verb=event["verb"],
        resource=reference.get("resource", ""),
        subresource=reference.get("subresource", ""),
        namespace=reference.get("namespace", ""),
        name=reference.get("name", ""),
        code=event.get("responseStatus", {}).get("code", 0),
        at=event["stageTimestamp"],
    )
