"""Filters of a query that leave out topics, partitions and messages before they are read.

Spark applies all filters again, so a filter may leave out less than it could. It never leaves out a row that matches.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

import pyarrow as pa
from pyarrow import compute
from pyspark.sql import datasource
from pyspark.sql.datasource import Filter

_COMPARISONS: Final[dict[type[Filter], Callable[[Any, Any], Any]]] = {
    datasource.EqualTo: compute.equal,
    datasource.GreaterThan: compute.greater,
    datasource.GreaterThanOrEqual: compute.greater_equal,
    datasource.LessThan: compute.less,
    datasource.LessThanOrEqual: compute.less_equal,
}
_LOWER: Final = (datasource.EqualTo, datasource.GreaterThan, datasource.GreaterThanOrEqual)
_UPPER: Final = (datasource.EqualTo, datasource.LessThan, datasource.LessThanOrEqual)
_PLACES: Final = frozenset({"topic", "partition"})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_USED: Final = _PLACES | {"publish_time", "schema_version"}


@dataclass(frozen=True, slots=True)
class RowFilters:
    """Filters on topic, partition, publish time and schema version, all of which a row must match."""

    filters: tuple[Filter, ...] = ()

    @classmethod
    def of(cls, filters: Iterable[Filter]) -> Self:
        """Return those of the filters that leave out messages before they are read."""
        return cls(tuple(each for each in filters if _is_usable(each)))

    def takes(self, topic: str, partition: int | None) -> bool:
        """Return True if rows of the partition may match. `partition` is None for a topic without partitions."""
        values = {"topic": pa.array([topic]), "partition": pa.array([partition], pa.int32())}
        return all(_mask(each, values[_name(each)])[0].as_py() for each in self.filters if _name(each) in _PLACES)

    @property
    def since(self) -> int | None:
        """Earliest publish time of matching rows, in milliseconds since 1970."""
        return max((_milliseconds(each) for each in self._times(_LOWER)), default=None)

    @property
    def until(self) -> int | None:
        """Time before which all matching rows were published, in milliseconds since 1970."""
        return min((_milliseconds(each) + 1 for each in self._times(_UPPER)), default=None)

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a schema version that matches. `writer` is negative in rows without a version."""
        versions = [each for each in self.filters if _name(each) == "schema_version"]
        if not versions:
            return batch
        writers = batch.column("writer").to_numpy()
        known = pa.array(writers, mask=writers < 0)
        for each in versions:
            mask = _mask(each, known)
            batch, known = batch.filter(mask), known.filter(mask)
        return batch

    def _times(self, kinds: tuple[type[Filter], ...]) -> list[Filter]:
        return [each for each in self.filters if _name(each) == "publish_time" and isinstance(each, kinds)]


def _is_usable(each: Filter) -> bool:
    if len(getattr(each, "attribute", ())) != 1 or _name(each) not in _USED:
        return False
    if _name(each) == "publish_time":
        return type(each) in _COMPARISONS and isinstance(each.value, datetime)  # type: ignore[attr-defined]
    return type(each) in _COMPARISONS or isinstance(each, datasource.In | datasource.IsNull | datasource.IsNotNull)


def _name(each: Filter) -> str:
    return str(each.attribute[0])  # type: ignore[attr-defined]


def _mask(each: Filter, values: pa.Array) -> pa.Array:
    """Return True for each value that matches. A comparison with null does not match."""
    match each:
        case datasource.In():
            kinds = [value for value in each.value if value is not None]
            return compute.is_in(values, value_set=pa.array(kinds, values.type)).fill_null(fill_value=False)
        case datasource.IsNull():
            return compute.is_null(values)
        case datasource.IsNotNull():
            return compute.is_valid(values)
        case _:
            compared = _COMPARISONS[type(each)](values, pa.scalar(each.value, values.type))  # type: ignore[attr-defined]
            return compared.fill_null(fill_value=False)


def _milliseconds(each: Filter) -> int:
    time: datetime = each.value  # type: ignore[attr-defined]
    known = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (known - _EPOCH) // timedelta(milliseconds=1)
