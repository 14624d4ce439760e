"""Input and result of a client's connection as values, and the error of a refusal."""

from dataclasses import dataclass, field
from enum import StrEnum

from topicschema.core.broker_errors import BrokerError
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility
from topicschema.core.schemas import PulsarVersion, SchemaInfo, fingerprint_of_bytes
from topicschema.core.strategies import Strategy, UpgradeFirst


class Client(StrEnum):
    """The kind of client. The broker treats a reader as a consumer."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    READER = "reader"


class ConnectOutcome(StrEnum):
    """The result. With NO_VERSION, a producer's messages have no version, and a consumer's schema is not stored."""

    USES_VERSION = "UsesVersion"
    REGISTERS_VERSION = "RegistersVersion"
    NO_VERSION = "NoVersion"
    REFUSED = "Refused"


@dataclass(frozen=True, slots=True)
class TopicState:
    """The input of the broker's decision without the client's schema.

    `history` is oldest first, None is a tombstone, the index is the version's number. KEY_VALUEs have the binary form.
    `strategy` is the effective one. The broker resolves UNDEFINED before; here its result is that of the broker's
    checkers.

    `is_in_use` is True if the topic has a producer, a consumer whose type is not AUTO_CONSUME, or stored messages.
    `checkers` stand for those of the broker that are not Pulsar's own.
    """

    history: tuple[SchemaInfo | None, ...] = ()
    strategy: Strategy = Strategy.FULL
    allows_auto_update: bool = True
    enforces_validation: bool = False
    is_in_use: bool = False
    pulsar_version: PulsarVersion = PulsarVersion.V4_0
    checkers: Checkers = field(default_factory=lambda: BUILT_IN, hash=False)

    @property
    def versions(self) -> tuple[tuple[int, SchemaInfo], ...]:
        """The versions that count: number and schema of all after the newest tombstone."""
        last = max((number for number, info in enumerate(self.history) if info is None), default=-1)
        return tuple((number, info) for number, info in enumerate(self.history) if info is not None and number > last)


@dataclass(frozen=True, slots=True)
class ConnectResult:
    """The result. `schema_version` is the one used or registered; `upgrade_first` follows from the strategy.

    For a refusal, `message` is the beginning of the broker's own text, or empty if that varies. If schemas are the
    reason, `incompatibilities` are all reasons in the operator's words. `warnings` are about clients that connect and
    cause harm later.
    """

    outcome: ConnectOutcome
    upgrade_first: UpgradeFirst = UpgradeFirst.NONE
    schema_version: int | None = None
    error: BrokerError | None = None
    message: str = ""
    incompatibilities: tuple[Incompatibility, ...] = ()
    warnings: tuple[Incompatibility, ...] = ()

    @property
    def may_connect(self) -> bool:
        """True if the broker accepts the client."""
        return self.outcome is not ConnectOutcome.REFUSED


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A schema whose text is not parsed."""

    info: SchemaInfo

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the bytes."""
        return fingerprint_of_bytes(self.info.type, self.info.schema)


class RefusedError(Exception):
    """The broker refuses the client."""

    def __init__(self, error: BrokerError, message: str, *findings: Incompatibility) -> None:
        super().__init__(message)
        self.refusal = ConnectResult(ConnectOutcome.REFUSED, error=error, message=message, incompatibilities=findings)
