"""What is asked and answered when a client connects: values, and the broker's no."""

from dataclasses import dataclass, field
from enum import StrEnum

from topicschema.core.broker_errors import BrokerError
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility
from topicschema.core.schemas import PulsarLine, SchemaInfo, fingerprint_of_bytes
from topicschema.core.strategies import Strategy, UpgradeFirst


class Client(StrEnum):
    """Who connects; to the broker a reader is a consumer."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    READER = "reader"


class Outcome(StrEnum):
    """What becomes of it. Of NO_VERSION a producer's messages carry none, and a consumer's schema is nowhere kept."""

    USES_VERSION = "UsesVersion"
    REGISTERS_VERSION = "RegistersVersion"
    NO_VERSION = "NoVersion"
    REFUSED = "Refused"


@dataclass(frozen=True, slots=True)
class TopicState:
    """All that the broker looks at but the client's schema.

    `history` is oldest first, None is a tombstone, the index is the version's number; KEY_VALUEs are the binary form.
    `strategy` is the one in force; UNDEFINED, which a broker resolves before, is answered as its checkers do.
    `is_in_use` says whether the topic has a producer, a consumer whose type is not AUTO_CONSUME, or stored messages.
    `checkers` stand for those of the broker that are not Pulsar's own.
    """

    history: tuple[SchemaInfo | None, ...] = ()
    strategy: Strategy = Strategy.FULL
    allows_auto_update: bool = True
    enforces_validation: bool = False
    is_in_use: bool = False
    line: PulsarLine = PulsarLine.V4_0
    checkers: Checkers = field(default_factory=lambda: BUILT_IN, hash=False)

    @property
    def versions(self) -> tuple[tuple[int, SchemaInfo], ...]:
        """What counts: number and schema of all after the newest tombstone."""
        last = max((number for number, info in enumerate(self.history) if info is None), default=-1)
        return tuple((number, info) for number, info in enumerate(self.history) if info is not None and number > last)


@dataclass(frozen=True, slots=True)
class Connection:
    """The answer. `schema_version` is the one used or registered; `upgrade_first` follows from the strategy.

    Of a refusal, `message` is how the broker's own text begins, empty where that varies, and `incompatibilities` are
    all reasons in our words, where schemas are the reason. `warnings` are told of what connects, and hurts later.
    """

    outcome: Outcome
    upgrade_first: UpgradeFirst = UpgradeFirst.NONE
    schema_version: int | None = None
    error: BrokerError | None = None
    message: str = ""
    incompatibilities: tuple[Incompatibility, ...] = ()
    warnings: tuple[Incompatibility, ...] = ()

    @property
    def may_connect(self) -> bool:
        """Whether the broker lets the client in."""
        return self.outcome is not Outcome.REFUSED


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A schema whose text nobody looks at."""

    info: SchemaInfo

    @property
    def fingerprint(self) -> str:
        """That of the bytes."""
        return fingerprint_of_bytes(self.info.type, self.info.schema)


class RefusedError(Exception):
    """The broker says no."""

    def __init__(self, error: BrokerError, message: str, *found: Incompatibility) -> None:
        super().__init__(message)
        self.refusal = Connection(Outcome.REFUSED, error=error, message=message, incompatibilities=found)
