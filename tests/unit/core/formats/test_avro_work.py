"""That the work which large schemas make grows with their size, not with its square."""

import json
from collections.abc import Callable
from typing import Any

from support.schemas.avro import array, field, parsed, record
from support.work import growth, steps
from topicschema.core.formats.avro.parsing import parser
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.schemas import SchemaInfo, SchemaType

LINEAR = 2.5
"""Twice the size may be so much more work: twice, and a little for what is there in any size."""


def resolving(reader: Callable[[int], Any], writer: Callable[[int], Any]) -> Callable[[int], Callable[[], object]]:
    """Return the work of one comparison by the size of the schemas."""

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

    assert (work(40) - work(20)) / 20 < 1_000
