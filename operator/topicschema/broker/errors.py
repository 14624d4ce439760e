"""Errors of calls to a broker, as reasons of conditions. `error_mapping` maps HTTP and network errors to these."""

from typing import Final

from topicschema.core.errors import StalledError, WaitingError


class BrokerUnavailableError(WaitingError):
    """The broker is unavailable, slow or overloaded, or the server is not a broker. A write may have succeeded."""

    def __init__(self, message: str, after: float = 5.0) -> None:
        super().__init__("BrokerUnavailable", message, after)


class AnswerTooLargeError(BrokerUnavailableError):
    """The answer exceeds its limit of bytes and was not read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, after=60.0)


class BrokerSilentError(BrokerUnavailableError):
    """The broker did not answer before the timeout."""


class BrokerTLSVerificationFailedError(WaitingError):
    """The broker's certificate is expired, untrusted or for another name; or the broker refuses the client's."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerTLSVerificationFailed", message, after=60.0)


class BrokerUnauthorizedError(WaitingError):
    """Authentication failed (401): the credentials are wrong, expired or missing."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerUnauthorized", message, after=60.0)


class BrokerForbiddenError(WaitingError):
    """The broker accepts the credentials, but does not permit the request."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerForbidden", message, after=60.0)


class TenantNotFoundError(WaitingError):
    """The tenant does not exist. The operator does not create it."""

    def __init__(self, message: str) -> None:
        super().__init__("TenantNotFound", message, after=60.0)


class NamespaceNotFoundError(WaitingError):
    """The Pulsar namespace does not exist. The operator does not create it."""

    def __init__(self, message: str) -> None:
        super().__init__("NamespaceNotFound", message, after=60.0)


class TopicNotFoundError(WaitingError):
    """The topic does not exist. Neither the operator nor a schema creates it."""

    def __init__(self, message: str) -> None:
        super().__init__("TopicNotFound", message, after=60.0)


class SchemaNotFoundError(WaitingError):
    """The broker itself reports that the schema does not exist. `Broker` returns None then."""

    def __init__(self, message: str) -> None:
        super().__init__("SchemaNotFound", message)


REFUSED_BY_BROKER: Final = "RefusedByBroker"
"""Condition reason of a refusal. After some refusals the operator tries again, so they have no class of their own."""


class RefusedByBrokerError(StalledError):
    """The broker refuses the request permanently. `status` is the HTTP status, or 0 if nothing was sent."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(REFUSED_BY_BROKER, message)
        self.status = status


class BrokerInconsistentError(WaitingError):
    """The broker accepted a write, but returns another value."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerInconsistent", message, after=30.0)


class BrokerNotAllowedError(StalledError):
    """The operator may not call the address."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerNotAllowed", message)


class SecretInvalidError(WaitingError):
    """A Secret's content is not a valid token, certificate or key. A user may fix it at any time."""

    def __init__(self, message: str) -> None:
        super().__init__("SecretInvalid", message, after=60.0)
