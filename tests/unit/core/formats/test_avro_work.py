"""That the work which large schemas make grows with their size, not with its square."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from support.schemas.avro import array, field, parsed, record
from support.work import growth, steps
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.parsing import parser
from topicschema.core.formats.avro.parsing.builder import Builder
from topicschema.core.formats.avro.parsing.incremental import IncrementalReader
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.schemas import SchemaInfo, SchemaType

LINEAR = 2.5
"""Twice the size may be so much more work: twice, and a little for what is there in any size."""


def resolving(reader: Callable[[int], Any], writer: Callable[[int], Any]) -> Callable[[int], Callable[[], object]]:
    """The work of one comparison by the size of the schemas."""

    def sized(size: int) -> Callable[[], object]:
        read, written = parsed(reader(size)), parsed(writer(size))
        return lambda: resolver.unreadable(read, written)

    return sized


def in_a_row(size: int, last: Any) -> dict[str, Any]:
    """Records, each with the next one in an array, and all of them fields of one record."""
    rows = [record(f"R{index}", field("next", array(f"R{index - 1}"))) for index in range(1, size)]
    return record("Top", *(field(f"x{index}", row) for index, row in enumerate([record("R0", last), *rows])))


def test_fields_to_be_skipped_that_lead_to_an_endless_record_are_walked_once() -> None:
    endless = resolving(lambda _: record("Top"), lambda size: in_a_row(size, field("self", "R0")))
    circle = resolving(lambda _: record("Top"), lambda size: in_a_row(size, field("self", array("R0"))))
    assert growth(endless, 50) < LINEAR
    assert growth(circle, 50) < LINEAR


class Looked(dict[str, Any]):
    """Types by name, of which each look at one after another is counted, C code's too."""

    looks = 0

    def values(self) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return self._counted(iter(dict.values(self)))

    def __reversed__(self) -> Iterator[Any]:
        return self._counted(reversed(dict.values(self)))

    def _counted(self, values: Iterator[Any]) -> Iterator[Any]:
        for each in values:
            self.looks += 1
            yield each


def test_records_beside_each_other_are_built_without_looking_at_those_before() -> None:
    text = json.dumps(record("R", field("a", [record(f"B{index}") for index in range(500)])))
    reading = IncrementalReader(text, None)
    builder = Builder(reading.read(), Library.AVRO_1_11, reading)
    builder.named = types = Looked()
    builder.build()
    assert len(types) == 501
    assert types.looks <= 501


def defaulting(count: int, items: Any, value: Any) -> dict[str, Any]:
    return record("R", field("a", array(items), default=[value] * count))


def test_a_default_of_many_plain_values_takes_hardly_any_work_to_check() -> None:
    def work(count: int) -> int:
        text = json.dumps(defaulting(count, array("int"), [])).encode()
        return steps(lambda: parser.parse(SchemaInfo(SchemaType.AVRO, text)))

    assert (work(400) - work(200)) / 200 < 100


def test_records_to_which_a_default_gives_nothing_are_filled_in_once() -> None:
    wide = record("W", *(field(f"f{index}", "int", default=0) for index in range(50)))

    def work(count: int) -> int:
        read = parsed(defaulting(count, wide, {}))
        return steps(lambda: resolver.unreadable(read, parsed(record("R"))))

    assert (work(40) - work(20)) / 20 < 200


def test_renamed_records_of_a_wide_union_are_not_tried_with_all_branches_though_one_has_an_alias() -> None:
    def union(prefix: str, size: int) -> Any:
        branches = [record(f"{prefix}{index}", field(f"f{index}", "int")) for index in range(size)]
        return record("R", field("u", branches, aliases=["old"]), doc="words " * 700)

    renamed = resolving(lambda size: union("A", size), lambda size: union("B", size))
    assert growth(renamed, 30) < LINEAR
