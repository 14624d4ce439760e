"""What can go wrong between us and the API server, in the product's own error tree. `foreign` maps onto these."""

from topicschema.core.errors import StalledError, WaitingError


class NotFoundError(WaitingError):
    """The object that was named does not exist; raised only when the API server itself said so of that object."""

    def __init__(self, message: str) -> None:
        super().__init__("NotFound", message)


class ConflictError(WaitingError):
    """Somebody else was faster: the object exists already, or moved since it was read. Read again and decide again."""

    def __init__(self, message: str) -> None:
        super().__init__("Conflict", message, after=0.1)


class ForbiddenError(WaitingError):
    """The API server does not know us (401) or does not allow it (403); an admin may mend that at any time."""

    def __init__(self, message: str) -> None:
        super().__init__("Forbidden", message, after=30.0)


class ApiRefusedError(StalledError):
    """The API server will refuse the same request for ever: an invalid object, or one that is too large.

    `status` is the HTTP status.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__("RefusedByApiServer", message)
        self.status = status


class ApiUnavailableError(WaitingError):
    """The API server is away, slow, starting, overloaded, or does not serve the kind. A write may have happened."""

    def __init__(self, message: str, after: float = 5.0) -> None:
        super().__init__("ApiServerUnavailable", message, after)


class ThrottledError(ApiUnavailableError):
    """The API server asks for patience (429) before it looked at the request: nothing happened. `after` is its wish."""


class NotLeadingError(WaitingError):
    """The lease is not ours, or may be over: nothing may be written."""

    def __init__(self) -> None:
        super().__init__("NotLeading", "this process does not hold the lease any more", after=1.0)
