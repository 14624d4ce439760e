"""Errors of a store outside Kubernetes. Any store may raise them."""

from topicschema.core.errors import WaitingError
from topicschema.core.reasons import Reason


class StorageUnavailableError(WaitingError):
    """The store is unreachable, slow, starting or overloaded. A write may have happened."""

    def __init__(self, message: str, after: float = 5.0) -> None:
        super().__init__(Reason.STORAGE_UNAVAILABLE, message, after)


class StorageRefusedError(WaitingError):
    """The store refuses the connection or the request. An administrator may fix that at any time."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.STORAGE_REFUSED, message, after=30.0)
