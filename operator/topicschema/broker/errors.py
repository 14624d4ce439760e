"""Errors of calls to a broker, as reasons of conditions. `error_mapping` maps HTTP and network errors to these."""

from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.reasons import Reason


class BrokerUnavailableError(WaitingError):
    """The broker is unavailable, slow or overloaded, or the server is not a broker. A write may have succeeded."""

    def __init__(self, message: str, after: float = 5.0) -> None:
        super().__init__(Reason.BROKER_UNAVAILABLE, message, after)


class AnswerTooLargeError(BrokerUnavailableError):
    """The answer exceeds its limit of bytes and was not read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, after=60.0)


class BrokerSilentError(BrokerUnavailableError):
    """The broker did not answer before the timeout."""


class NotABrokerError(BrokerUnavailableError):
    """A server answers at the address, but not as a Pulsar broker does: for instance a web page or a proxy."""

    def __init__(self, message: str, after: float = 30.0) -> None:
        super().__init__(message, after)
        self.reason = Reason.NOT_A_BROKER


class BrokerTLSVerificationFailedError(WaitingError):
    """The broker's certificate is expired, untrusted or for another name; or the broker refuses the client's."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.BROKER_TLS_VERIFICATION_FAILED, message, after=60.0)


class BrokerUnauthorizedError(WaitingError):
    """Authentication failed (401): the credentials are wrong, expired or missing."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.BROKER_UNAUTHORIZED, message, after=60.0)


class BrokerForbiddenError(WaitingError):
    """The broker accepts the credentials, but does not permit the request."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.BROKER_FORBIDDEN, message, after=60.0)


class TenantNotFoundError(WaitingError):
    """The tenant does not exist. The operator does not create it."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.TENANT_NOT_FOUND, message, after=60.0)


class NamespaceNotFoundError(WaitingError):
    """The Pulsar namespace does not exist. The operator does not create it."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.NAMESPACE_NOT_FOUND, message, after=60.0)


class TopicNotFoundError(WaitingError):
    """The topic does not exist. Neither the operator nor a schema creates it."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.TOPIC_NOT_FOUND, message, after=60.0)


class SchemaNotFoundError(WaitingError):
    """The broker itself reports that the schema does not exist. `Broker` returns None then."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.SCHEMA_NOT_FOUND, message)


class RefusedByBrokerError(StalledError):
    """The broker refuses the request permanently. `status` is the HTTP status, or 0 if nothing was sent."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(Reason.REFUSED_BY_BROKER, message)
        self.status = status


class BrokerInconsistentError(WaitingError):
    """The broker accepted a write, but returns another value."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.BROKER_INCONSISTENT, message, after=30.0)


class BrokerNotAllowedError(StalledError):
    """The operator may not call the address."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.BROKER_NOT_ALLOWED, message)


class SecretInvalidError(WaitingError):
    """A Secret's content is not a valid token, certificate or key. A user may fix it at any time."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.SECRET_INVALID, message, after=60.0)
