"""Incompatibilities of a topic's current schema with the versions that have messages, under a proposed strategy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from topicschema.core import compatibility, formats
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, SchemaInfo
from topicschema.core.strategies import Strategy
from topicschema.spark.errors import InvalidOptionError

CURRENT: Final = "current"
STRICT: Final = "strict"


@dataclass(frozen=True, slots=True)
class ProposedStrategy:
    """Strategy under which versions are compared. None compares no schemas: only the messages are judged.

    With `is_strict`, what the broker accepts and consumers then lose is a finding, too.
    """

    strategy: Strategy | None = None
    is_strict: bool = False
    checkers: Checkers = field(default_factory=lambda: BUILT_IN)

    @classmethod
    def parse(cls, text: str, checkers: Checkers = BUILT_IN) -> Self:
        """Return the strategy of `current`, `strict` (FULL_TRANSITIVE and all risks), or one of Pulsar's names.

        Raises InvalidOptionError for another text.
        """
        if text.lower() == CURRENT:
            return cls()
        if text.lower() == STRICT:
            return cls(Strategy.FULL_TRANSITIVE, is_strict=True, checkers=checkers)
        known = [each for each in Strategy if each is not Strategy.UNDEFINED]
        if text.upper() not in known:
            raise InvalidOptionError(
                f"option proposed: {text!r}; write {CURRENT}, {STRICT} or one of {', '.join(known)}"
            )
        return cls(Strategy(text.upper()), checkers=checkers)

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
            incompatibilities = compatibility.check(candidate, earlier, self.strategy, self.checkers)
            if self.is_strict:
                incompatibilities += compatibility.risks(candidate, earlier, self.strategy)
            for each in dict.fromkeys(incompatibilities):
                yield number, each


def _unparsed(error: InvalidSchemaError) -> Incompatibility:
    return Incompatibility(error.rule, error.place.path, error.message)
