"""A checker as another team would write it: PROTOBUF, which Pulsar does not compare, must keep its record's name."""

import json
from collections.abc import Iterator, Sequence

from topicschema.core.checkers import Finding
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Direction, Strategy


class RecordNames:
    """Refuses a record of another name."""

    def incompatibilities(
        self, candidate: SchemaInfo, earlier: Sequence[SchemaInfo], strategy: Strategy
    ) -> Iterator[Finding]:
        """Yield a finding for each version whose record has another name."""
        name = _name(candidate)
        for index, version in enumerate(earlier):
            if _name(version) != name:
                message = f"the record is called {name} and was {_name(version)}; {strategy} does not let it change"
                yield Finding("ACME_RECORD_NAME", message, "$.name", Direction.BACKWARD, index)


def _name(info: SchemaInfo) -> str:
    return str(json.loads(info.schema)["name"])
