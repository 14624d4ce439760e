"""Incompatibilities of a topic's current schema with the versions that have messages, under a proposed strategy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from topicschema import checkers
from topicschema.core import compatibility, formats
from topicschema.core.checkers import Checkers
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, SchemaInfo
from topicschema.core.strategies import Strategy
from topicschema.spark.errors import InvalidOptionError

CURRENT: Final = "current"
STRICT: Final = "strict"
_STRATEGIES: Final = tuple(each for each in Strategy if each is not Strategy.UNDEFINED)


@dataclass(frozen=True, slots=True)
class ProposedStrategy:
    """Strategy under which versions are compared. None compares no schemas: only the messages are judged.

    With `is_strict`, what the broker accepts and consumers then lose is a finding, too.
    """

    strategy: Strategy | None = None
    is_strict: bool = False

    @classmethod
    def named(cls, text: str) -> Self | None:
        """Return the strategy of `current`, `strict` (FULL_TRANSITIVE and all risks), or one of Pulsar's names.

        Return None for another text. Raises InvalidOptionError if a plugged-in checker cannot be used.
        """
        if text.lower() == CURRENT:
            return cls()
        is_strict = text.lower() == STRICT
        name = Strategy.FULL_TRANSITIVE if is_strict else text.upper()
        if name not in _STRATEGIES:
            return None
        _checkers()  # its error comes before any message is read
        return cls(Strategy(name), is_strict=is_strict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the strategy of the option `proposed`, as `named`. Raises InvalidOptionError for another text."""
        strategy = cls.named(text)
        if strategy is None:
            names = f"{CURRENT}, {STRICT} or one of {', '.join(_STRATEGIES)}"
            raise InvalidOptionError(f"option proposed: {text!r}; write {names}")
        return strategy

    def findings(
        self, current: SchemaInfo, versions: Mapping[int, SchemaInfo], pulsar_version: PulsarVersion
    ) -> Iterator[tuple[int, Incompatibility]]:
        """Yield each finding about the current schema and one of the versions, with the version's number."""
        if self.strategy is None:
            return
        try:
            candidate = formats.parse(current, pulsar_version, validate_defaults=False)
        except InvalidSchemaError as error:
            for number in versions:
                yield number, _unparsed(error)
            return
        for number, info in sorted(versions.items()):
            try:
                schema = formats.parse(info, pulsar_version, validate_defaults=False)
            except InvalidSchemaError as error:
                yield number, _unparsed(error)
                continue
            earlier = [Predecessor(number, info.type, schema)]
            incompatibilities = compatibility.check(candidate, earlier, self.strategy, _checkers())
            if self.is_strict:
                incompatibilities += compatibility.risks(candidate, earlier, self.strategy)
            for each in dict.fromkeys(incompatibilities):
                yield number, each


NO_STRATEGY: Final = ProposedStrategy()
"""The strategy that compares nothing."""


class VersionComparisons:
    """Comparisons of a current schema with the other `versions`, each made once.

    `number` is that of the current schema, or None if there is none. More versions may be added at any time.
    """

    def __init__(
        self,
        strategy: ProposedStrategy,
        current: tuple[int | None, SchemaInfo],
        versions: Mapping[int, SchemaInfo | None],
        pulsar_version: PulsarVersion,
    ) -> None:
        self._strategy = strategy
        self._number, self._current = current
        self._versions = versions
        self._pulsar_version = pulsar_version
        self._known: dict[int, list[Mapping[str, str | None]]] = {}

    def of(self, version: int | None) -> Sequence[Mapping[str, str | None]] | None:
        """Return the incompatibilities with a version, as `members_of`. Return None if nothing can be compared."""
        info = None if version is None else self._versions.get(version)
        if version is None or info is None or self._number is None or self._strategy.strategy is None:
            return None
        if version not in self._known:
            others = {} if version == self._number else {version: info}
            findings = self._strategy.findings(self._current, others, self._pulsar_version)
            self._known[version] = [members_of(each) for _, each in findings]
        return self._known[version]


def members_of(finding: Incompatibility) -> Mapping[str, str | None]:
    """Return the members `rule`, `path`, `direction` (None for both) and `message` of a row of Spark."""
    return {
        "rule": finding.rule,
        "path": finding.path,
        "direction": None if finding.direction is None else finding.direction.value,
        "message": finding.message.encode(errors="replace").decode(),
    }


@cache
def _checkers() -> Checkers:
    """Return the plugged-in checkers of this process. Raises InvalidOptionError if one cannot be used."""
    try:
        return checkers.load()
    except checkers.UnusableCheckerError as error:
        raise InvalidOptionError(str(error)) from None


def _unparsed(error: InvalidSchemaError) -> Incompatibility:
    return Incompatibility(error.rule, error.place.path, error.message)
