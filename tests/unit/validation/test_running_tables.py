"""The tables of a whole run, row by row, compared with the known messages of two files."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.validation import order_files
from support.validation.order_files import Order
from topicschema.validation.run import runner

ORDERS = order_files.orders(6_000, share=0.02)
STORED = {"few.parquet": ORDERS[:1_700], "most.parquet": ORDERS[1_700:]}
EACH_ROW_GROUP = 1
"""Bytes of a split: so few that each row group is one, and the tables are put together from those of all."""
HOUR = 3_600_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stored")


@pytest.fixture(scope="module")
def document(folder: Path) -> Any:
    paths = [order_files.write(orders, folder / name) for name, orders in STORED.items()]
    request = order_files.validation_request(*paths)
    return runner.run(request, order_files.source(request, EACH_ROW_GROUP), workers=1).document


def counted(orders: Sequence[Order]) -> dict[str, int]:
    return {"messages": len(orders), "invalid": sum(bool(each.reason) for each in orders)}


def moment(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def where_cut(order: Order) -> tuple[str, int]:
    """Return the field in which a truncated order ends, and the offset of that field."""
    assert order.payload is not None
    has_id = bool(order.payload) and order.payload[-1] < 0x80
    return ("$.note", len(order.payload)) if has_id else ("$.id", 0)


def test_what_readers_lose_is_counted_for_each_message_that_they_can_read(document: Any) -> None:
    readable = sum(each.version == 0 and not each.reason for each in ORDERS)
    assert document["losses"] == [{"kind": "FIELD_DROPPED", "path": "$.note", "messages": readable}]


def test_each_place_has_its_own_number_of_invalid_messages(document: Any) -> None:
    expected = Counter(
        (each.reason, where_cut(each)[0] if each.reason == "TRUNCATED" else "$") for each in ORDERS if each.reason
    )
    assert {(each["reason"], each["path"]): each["messages"] for each in document["byPlace"]} == expected


def test_each_file_has_its_own_messages_the_one_with_the_most_invalid_first(document: Any, folder: Path) -> None:
    rows = [{"name": str(folder / name), **counted(orders)} for name, orders in STORED.items()]
    assert rows[0]["invalid"] < rows[1]["invalid"]
    assert document["byPartition"] == rows[::-1]


def test_each_hour_has_the_messages_that_were_published_in_it(document: Any) -> None:
    hours = sorted({each.publish_time // HOUR for each in ORDERS})
    assert len(hours) > 1
    published = [[each for each in ORDERS if each.publish_time // HOUR == hour] for hour in hours]
    rows = [{"from": moment(hour * HOUR), **counted(orders)} for hour, orders in zip(hours, published, strict=True)]
    assert document["byHour"] == {"step": 1, "rows": rows}


def test_an_example_names_an_invalid_message_with_its_reason_and_offset(document: Any, folder: Path) -> None:
    examples = document["examples"]
    assert len({(each["partition"], each["message"]) for each in examples}) == len(examples) == 10
    assert {each["partition"] for each in examples} == {str(folder / name) for name in STORED}
    for example in examples:
        order = STORED[Path(example["partition"]).name][int(example["message"])]
        path, offset = where_cut(order) if order.reason == "TRUNCATED" else ("$", None)
        assert order.reason
        assert example == {
            "message": example["message"],
            "partition": example["partition"],
            "publishedAt": moment(order.publish_time),
            "schemaVersion": order.version,
            "reason": order.reason,
            "path": path,
            "offset": offset,
        }
