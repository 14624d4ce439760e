"""What can go wrong between us and a broker, in the product's own error tree. `foreign` maps onto these."""

from topicschema.core.errors import StalledError, WaitingError


class BrokerUnavailableError(WaitingError):
    """The broker is away, slow, overloaded, or what answers is no broker. A write may have happened."""

    def __init__(self, message: str, after: float = 5.0) -> None:
        super().__init__("BrokerUnavailable", message, after)


class AnswerTooLargeError(BrokerUnavailableError):
    """The answer has more bytes than such an answer may have; it was not read."""

    def __init__(self, message: str) -> None:
        super().__init__(message, after=60.0)


class BrokerSilentError(BrokerUnavailableError):
    """No answer came in the time that such an answer may take."""


class BrokerTLSVerificationFailedError(WaitingError):
    """The broker's certificate has expired, is for another name, or its issuer is not trusted; or it refuses ours."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerTLSVerificationFailed", message, after=60.0)


class BrokerUnauthorizedError(WaitingError):
    """The broker does not know us (401): the credentials are wrong, expired, or missing."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerUnauthorized", message, after=60.0)


class BrokerForbiddenError(WaitingError):
    """The broker knows us and does not allow it."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerForbidden", message, after=60.0)


class TenantNotFoundError(WaitingError):
    """The tenant does not exist; the operator creates none."""

    def __init__(self, message: str) -> None:
        super().__init__("TenantNotFound", message, after=60.0)


class NamespaceNotFoundError(WaitingError):
    """The Pulsar namespace does not exist; the operator creates none."""

    def __init__(self, message: str) -> None:
        super().__init__("NamespaceNotFound", message, after=60.0)


class TopicNotFoundError(WaitingError):
    """The topic does not exist (a schema does not make it exist); the operator creates none."""

    def __init__(self, message: str) -> None:
        super().__init__("TopicNotFound", message, after=60.0)


class SchemaNotFoundError(WaitingError):
    """The broker itself says that there is no such schema; `Broker` gives None for it."""

    def __init__(self, message: str) -> None:
        super().__init__("SchemaNotFound", message)


class RefusedByBrokerError(StalledError):
    """The broker will refuse the same request for ever; `status` is the HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__("RefusedByBroker", message)
        self.status = status


class BrokerInconsistentError(WaitingError):
    """The broker said yes and shows something else."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerInconsistent", message, after=30.0)


class BrokerNotAllowedError(StalledError):
    """The address is not one that the operator may call."""

    def __init__(self, message: str) -> None:
        super().__init__("BrokerNotAllowed", message)


class SecretInvalidError(WaitingError):
    """A Secret's content is no token, certificate or key; somebody may mend it at any time."""

    def __init__(self, message: str) -> None:
        super().__init__("SecretInvalid", message, after=60.0)
