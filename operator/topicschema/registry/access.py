"""Clients' identities and rights, by the API server's TokenReview and SubjectAccessReview, cached for seconds.

A client may do in the registry what Kubernetes lets it do with the TopicSchemas and policies of the namespace that
governs the Pulsar namespace.
"""

import asyncio
import hashlib
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from topicschema.api.kinds import Kind, Object
from topicschema.cluster.client import ApiClient
from topicschema.registry.answers import RestError, unavailable

T = TypeVar("T")

SECONDS: Final = 5.0
"""The time for which an identity or a right is cached."""
_MOST_ENTRIES: Final = 10_000
_MOST_OF_CLIENT: Final = 64
_MOST_UNKNOWN: Final = 32
_BURST_SECONDS: Final = 2
_REVIEW_TOKEN: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
_REVIEW_ACCESS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Cache(Generic[T]):
    """A cache of results that expire. Concurrent calls with the same key share one read; errors are not cached."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._entries: OrderedDict[Hashable, tuple[float, asyncio.Future[T]]] = OrderedDict()

    async def get(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Return the result for the key. Raises the errors of `read`."""
        entry = self._entries.get(key)
        if entry is not None and entry[0] > time.monotonic():
            return entry[1].result() if entry[1].done() else await asyncio.shield(entry[1])
        reading = asyncio.ensure_future(read())
        self._entries[key] = time.monotonic() + self._seconds, reading
        self._entries.move_to_end(key)
        if len(self._entries) > _MOST_ENTRIES:
            self._entries.popitem(last=False)
        try:
            return await asyncio.shield(reading)
        except BaseException:
            self.forget(key)
            raise

    def forget(self, key: Hashable) -> None:
        """Read the key again at the next call."""
        self._entries.pop(key, None)


@dataclass(frozen=True, slots=True)
class User:
    """A client's identity: the user of a TokenReview, and a digest of its token."""

    info: Object
    digest: str

    @property
    def name(self) -> str:
        """The user's name, for instance that of a service account."""
        return str(self.info.get("username", ""))


class Access:
    """Reviewer of tokens and rights, and the limits of each client.

    A user may send `per_second` requests each second, and after an idle time those of two seconds at once. `clock`
    returns seconds.
    """

    def __init__(self, client: ApiClient, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._interval = 1 / per_second
        self._clock = clock
        self._due: OrderedDict[str, float] = OrderedDict()
        """The time at which each user's next request is due, at the exact rate."""
        self._users: Cache[User | None] = Cache()
        self._rights: Cache[bool] = Cache()
        self._unknown = 0
        self._in_progress: Counter[str] = Counter()

    async def user(self, authorization: str) -> User:
        """Return the user of an Authorization header. Raises RestError 401, or 503 if too many tokens are unknown."""
        scheme, _, token = authorization.partition(" ")
        user = None
        if scheme.lower() == "bearer" and token.strip():
            digest = hashlib.sha256(token.strip().encode()).hexdigest()
            user = await self._users.get(digest, lambda: self._review(token.strip(), digest))
        if user is None:
            message = "a bearer token of this Kubernetes cluster is needed: Authorization: Bearer TOKEN"
            raise RestError(401, message, headers={"WWW-Authenticate": "Bearer"})
        return user

    @contextmanager
    def counted(self, user: User) -> Iterator[None]:
        """Count a request of the client while the context lasts.

        Raises RestError 429 if the user sends more in a second, or has more in progress, than the limits are.
        """
        if self._in_progress[user.digest] >= _MOST_OF_CLIENT:
            raise _too_many(f"{user.name} has {_MOST_OF_CLIENT} requests in progress, which is the limit", 1.0)
        self._take(user)
        self._in_progress[user.digest] += 1
        try:
            yield
        finally:
            self._in_progress[user.digest] -= 1
            if not self._in_progress[user.digest]:
                del self._in_progress[user.digest]

    def _take(self, user: User) -> None:
        now = self._clock()
        due = max(self._due.get(user.name, now), now)
        early = due + self._interval - _BURST_SECONDS - now
        if early > 0:
            message = f"{user.name} sends more than {1 / self._interval:g} requests a second, which is the limit"
            raise _too_many(message, early)
        self._due[user.name] = due + self._interval
        self._due.move_to_end(user.name)
        if len(self._due) > _MOST_ENTRIES:
            self._due.popitem(last=False)

    async def _review(self, token: str, digest: str) -> User | None:
        if self._unknown >= _MOST_UNKNOWN:
            raise unavailable("too many tokens are under review", 1)
        self._unknown += 1
        try:
            status = await self._post(_REVIEW_TOKEN, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        finally:
            self._unknown -= 1
        return User(status["user"], digest) if status.get("authenticated") else None

    async def require(self, user: User, verb: str, kind: Kind, namespace: str) -> None:
        """Raise RestError 403 if the user may not do this with objects of the kind in the Kubernetes namespace."""
        key = user.digest, verb, kind.plural, namespace
        if not await self._rights.get(key, lambda: self._may(user, verb, kind, namespace)):
            raise RestError(403, f"{user.name} may not {verb} {kind.plural}.{kind.group} in namespace {namespace}")

    async def _may(self, user: User, verb: str, kind: Kind, namespace: str) -> bool:
        attributes = {"namespace": namespace, "verb": verb, "group": kind.group, "resource": kind.plural}
        info = user.info
        spec = {"resourceAttributes": attributes, "user": info.get("username"), "uid": info.get("uid")}
        spec |= {"groups": info.get("groups"), "extra": info.get("extra")}
        present = {name: value for name, value in spec.items() if value}
        status = await self._post(_REVIEW_ACCESS, "authorization.k8s.io/v1", "SubjectAccessReview", present)
        return bool(status.get("allowed"))

    async def _post(self, path: str, version: str, kind: str, spec: Object) -> dict[str, Any]:
        answer = await self._client.post(path, {"apiVersion": version, "kind": kind, "spec": spec})
        return answer.get("status") or {}


def _too_many(message: str, after: float) -> RestError:
    return RestError(429, message, headers={"Retry-After": str(math.ceil(after))})
