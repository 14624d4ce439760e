"""That the work which large schemas make grows with their size, not with its square."""

from collections.abc import Callable
from typing import Any

from avro_asking import array, field, parsed, record
from topicschema.core.formats.avro import resolution
from work import growth

LINEAR = 2.5
"""Twice the size may be so much more work: twice, and a little for what is there in any size."""


def resolving(reader: Callable[[int], Any], writer: Callable[[int], Any]) -> Callable[[int], Callable[[], object]]:
    """The work of one comparison by the size of the schemas."""

    def sized(size: int) -> Callable[[], object]:
        read, written = parsed(reader(size)), parsed(writer(size))
        return lambda: resolution.unreadable(read, written)

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
