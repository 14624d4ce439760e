"""Errors of the API server and the connection to it. See `error_mapping` for the mapping."""

from collections.abc import Sequence

from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.reasons import Reason


class NotFoundError(WaitingError):
    """The named object does not exist. Raised only if the API server itself reports so for that object."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.NOT_FOUND, message)


class ConflictError(WaitingError):
    """Another writer was first: the object already exists, or changed since it was read. Read and decide again."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.CONFLICT, message, after=0.1)


class ForbiddenError(WaitingError):
    """The API server rejects the credentials (401) or the request (403). An administrator may fix that at any time."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.FORBIDDEN, message, after=30.0)


class ApiRefusedError(StalledError):
    """The API server always refuses this request: an invalid object, or one that is too large.

    `status` is the HTTP status. `causes` are the refused fields, each with the API server's or a webhook's reason.
    These may quote the object, so that only its own author may read them.
    """

    def __init__(self, message: str, status: int, causes: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(Reason.REFUSED_BY_API_SERVER, message)
        self.status = status
        self.causes = tuple(causes)


class ApiUnavailableError(WaitingError):
    """The API server is unreachable, slow, starting or overloaded, or does not serve the kind.

    A write may have happened.
    """

    def __init__(self, message: str, after: float = 5.0) -> None:
        super().__init__(Reason.API_SERVER_UNAVAILABLE, message, after)


class ThrottledError(ApiUnavailableError):
    """The API server throttled the request (429) before it handled it, so nothing happened.

    `after` is its Retry-After.
    """


class NotLeadingError(WaitingError):
    """This process does not hold the lease, or it may have expired. No write is allowed."""

    def __init__(self) -> None:
        super().__init__(Reason.NOT_LEADING, "this process does not hold the lease any more", after=1.0)
