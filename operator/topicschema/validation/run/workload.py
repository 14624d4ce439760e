"""Work of a run, estimated from its plan, and who does it: one pod, or Spark's executors (docs/decisions/0026)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final, Self

from topicschema.core import formats
from topicschema.core.formats.key_value import KeyValueSchema
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.request import ValidationRequest
from topicschema.validation.run import local
from topicschema.validation.run.sampling import Sampling
from topicschema.validation.sources import Plan

_UNIT_BYTES: Final = 500
"""Size of the messages by which the rates were measured. A larger message counts as several."""
_WORK: Final = 2 / 3
"""Share of a run's time that is left for work: Spark's start takes the rest, 20 of 60 seconds."""
_READ: Final = 500_000.0
"""Messages that one core reads in a second, without a verdict."""
_FAST: Final = 5_000_000.0
_JUDGED: Final[Mapping[SchemaType, float]] = {
    SchemaType.JSON: 85_000.0,
    SchemaType.PROTOBUF: 500_000.0,
    SchemaType.PROTOBUF_NATIVE: 500_000.0,
}
"""Messages that one core judges in a second, by type. All other types have the rate `_FAST`."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Approximate number of messages, and seconds of work for one core."""

    messages: int
    seconds: float

    @classmethod
    def of(cls, request: ValidationRequest, plan: Plan) -> Self:
        """Return the workload of a plan. A sample reads all messages and judges some of them."""
        units = max(plan.messages, plan.bytes / _UNIT_BYTES)
        share = Sampling.of(request.sample, plan.messages, 0).share
        judged = sum(1 / _JUDGED.get(each, _FAST) for each in _types(request.candidate))
        return cls(plan.messages, units / _READ + units * share * judged)

    def executors(self, request: ValidationRequest) -> int:
        """Return the number of executors with which the run takes the seconds from which on it needs them.

        It is 0 if one pod is as fast, or none are allowed.
        """
        limit = request.spark_from_milliseconds / 1000
        if not self.messages or self.seconds / local.processes_for(self.messages) < limit:
            return 0
        return min(request.max_executors, ceil(self.seconds / (limit * _WORK)))

    def sentence(self, who: str) -> str:
        """Return who judged and why, for users."""
        return f"{self.messages:,} messages, about {ceil(self.seconds):,} s of work for one core: judged by {who}"


def _types(candidate: SchemaInfo) -> tuple[SchemaType, ...]:
    """Return the type, or the types of key and value."""
    if candidate.type is not SchemaType.KEY_VALUE:
        return (candidate.type,)
    pair = formats.parse(candidate, validate_defaults=False)
    return tuple(each.info.type for each in (pair.key, pair.value)) if isinstance(pair, KeyValueSchema) else ()
