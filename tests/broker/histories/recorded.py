"""The cases of tests/conformance as histories: recorded pairs, texts, equalities, and real releases of protobuf."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from broker.histories.making import History
from support.schemas import googleapis_releases
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

_HERE: Final = Path(__file__).parents[2] / "conformance"
_BOTH_WAYS: Final = tuple(each for each in Strategy if each.directions)
_GOOD: Final = SchemaInfo(SchemaType.AVRO, b'{"type": "record", "name": "Good", "fields": []}')


def edge_cases() -> Iterator[History]:
    """A writer and then its reader, as consumers of the newest schema would meet them."""
    for number, case in enumerate(_read("avro-edge-cases.json")):
        yield History(f"edge-{number}", Strategy.BACKWARD, _pair(case))


def random_pairs() -> Iterator[History]:
    """The same of the pairs that were made by chance, under all strategies that compare."""
    for number, case in enumerate(_read("avro-random-pairs.json")):
        yield History(f"pair-{number}", _BOTH_WAYS[number % len(_BOTH_WAYS)], _pair(case))


def texts() -> Iterator[History]:
    """Each text as the first of its topic, and after another schema, where its defaults are read."""
    for number, case in enumerate(_read("avro-parse-and-equality.json")["parse"]):
        text = SchemaInfo(SchemaType.AVRO, case["text"].encode())
        yield History(f"text-{number}", Strategy.ALWAYS_COMPATIBLE, (text, _GOOD, text))


def equalities() -> Iterator[History]:
    """Two schemas where only equal ones pass."""
    for number, case in enumerate(_read("avro-parse-and-equality.json")["schema_equality_used_for_dedupe"]):
        steps = tuple(SchemaInfo(SchemaType.JSON, case[each].encode()) for each in ("a", "b"))
        yield History(f"equal-{number}", Strategy.ALWAYS_INCOMPATIBLE, steps)


def protobuf_releases() -> Iterator[History]:
    """Every release of googleapis' files after the one before it; DemoError where they cannot be fetched."""
    for number, root in enumerate(googleapis_releases.ROOTS):
        envelopes = googleapis_releases.envelopes(root).values()
        steps = tuple(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope) for envelope in envelopes)
        yield History(f"release-{number}", Strategy.FULL_TRANSITIVE, steps)


def _pair(case: dict[str, Any]) -> tuple[SchemaInfo, SchemaInfo]:
    """Writer and reader; as JSON where one is a union, which AVRO refuses."""
    has_union = any(isinstance(case[each], list) for each in ("reader", "writer"))
    kind = SchemaType.JSON if has_union else SchemaType.AVRO
    return SchemaInfo(kind, json.dumps(case["writer"]).encode()), SchemaInfo(kind, json.dumps(case["reader"]).encode())


def _read(name: str) -> Any:
    return json.loads((_HERE / name).read_text(encoding="utf-8"))
