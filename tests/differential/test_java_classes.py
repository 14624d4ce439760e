"""JSON values of Java's own classes: what a consumer with a class reads, beside what the validator finds.

It must find whatever Java refuses. What it finds and Java reads must be of another type than the schema's.
"""

import base64
import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from differential import oracle, seeds
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.column import Column

pytestmark = pytest.mark.differential

ORACLE = oracle.CLIENT.with_name("JsonOracle.java")
NAMED = ("logicalType", "java-class")
PARTS = {
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "AAAAAAAAAAAAAAAAAAAA/g==", "x-_-AAAAAAAAAAAAAAAA_Q", "{", " "),
    "decimal": ("1", "0", "5", ".", "e", "E+", "-", "+", "2147483647", "e-2147483648", "NaN", ",", " ", "x", "null"),
    "huge": ("1", "0", "-", "+", ".", "e3", "x", " ", "null", "9" * 500),
    "uri": (
        *("http", "a", ":", "/", "//", "?", "#", "[", "]", "@", "%", "%41", " ", "é", "\u2028", "\\", "|", "-", "1"),
        *("[::1]", ":80", "😀", "\x7f", "!", "{", "~", "+", "mailto:", "%zone"),
    ),
    "url": (
        *("http:", "ftp:", "FILE:", "https:", "jar:", "jmod:", "jrt:", "mailto:", "gopher:", "data:", "wss:", "url:"),
        *("//x", "//", "/a/", "!/", "?", "#", "@", ":", ":80", ":-1", ":-2", ":+5", ":a", "[::1]", "[::z]", "//[", "é"),
    ),
    "letter": ("a", "é", "😀", "\x00", " "),
    "letters": ("a", "😀", " "),
    "date": ("2024", "-", "01", "02", "T", "10:00", "Z", "+12345", "-0000", "2023-02-29", "2024-02-29", "24:00", " "),
    "time": ("10", ":", "00", ":00", ".5", "24:00", "Z", "T", "10:00:60", " "),
    "local": ("2024-01-02", "T", " ", "10:00", ":00", ".5", "Z", "24:00", "+2024-01-02T10:00", "-0001-01-01T00:00"),
    "instant": (
        *("2024-01-02T10:00:00", "Z", "+01:00", "+18:01", "-18:00", ".5", "1", "5", "-", ".", "99999", "+0100", " "),
        *("-0000-01-01T00:00:00", "+19999-01-01T00:00:00"),
    ),
    "old": (
        *("2024-01-02", "T10:00", ":00", ".5", ".1234567891", "Z", "+01", "00", ":30", " 10:00", "1", "-", "9" * 18),
        *("Tue, 02 Jan 2024 10:00:00 GMT", "tuesday, 2 january 24 1:2:3 CETx", "Tue, 02 Jan 2024 10:00:00", "+0100"),
        *("null", "x"),
    ),
}
DATES = (  # the parts of a date by RFC 1123; Java 17 knows more zones, but not all that Java 25 knows
    ("Tue", "tuesday", "Tues", "WED", "wednes", "Foo", "", "Tue."),
    (", ", ",", " ", ",  "),
    ("2", "02", "-2", "99", "", "\t2", "\n2"),
    (" ", " ", "  ", "-"),
    ("Jan", "january", "SEPT", "Sep", "Dec", "1", "Foo", "Janu", "May"),
    (" 2024 ", " 24 ", " -1 ", " ", "  2024 "),
    ("10:00:00", "1:2:3", "10:00", "-1:-1: -1", "25:61:61", "10:00:00.5"),
    (" ", " ", "  ", "", " \t"),
    (
        *("GMT", "gmt", "UTC", "utcx", "UT", "Z", "CET", "CETx", "Est", "MSK", "XYZ", "foo", "A", "", "+0100", "-2359"),
        *("+2400", "+0060", "+1", "GMT+1:00", "GMT-23:59", "GMT+24:00", "GMT+1", "GMTx", "+01:00", "UTC+9"),
    ),
)
EXPONENTS = (9, 309, 99_999, 100_000, 100_001, 999_999_999, 2**31 - 1, 2**31, 2**63, 10**20)
NUMBERS = (
    *range(-3, 13),
    *(edge + step for bits in (7, 8, 15, 16) for edge in (1 << bits, -1 << bits) for step in (-1, 0, 1)),
)
OTHERS = (
    *("true", "[]", "1.5", "1e3", '""', '" "', "[1]", "[1,2]", "[2024,2,30]", "[2024,1,2]", "[2024,1,2,3,4,5,6]"),
    *('["a"]', '["a","b"]', "[97]", '["a",1]', "{}", '{"a":1}', "0", "0.0", "0e5", "97", "[null]"),
)


REFUSED_URL = re.compile(rb"\[[^@]*@|url:jar:#")
"""URLs that Java 17 reads and we refuse: a bracket before an at sign, which Java 25 refuses, and no file at all."""


def values(seed: str, number: int) -> tuple[str, str]:
    """Return a field, and the JSON of a value."""
    chance = random.Random(f"java classes {seed} {number}")  # noqa: S311
    name = chance.choice((*PARTS, "small", "tiny"))
    if chance.random() < 0.2:
        return name, chance.choice(OTHERS)
    if name in ("decimal", "huge", "instant", "old") and chance.random() < 0.2:
        number = chance.choice(("1", "-12", "0", "1.5", "0.000", "123456.789"))
        return name, f"{number}{chance.choice('eE')}{chance.choice(('', '+', '-'))}{chance.choice(EXPONENTS)}"
    if name == "old" and chance.random() < 0.5:
        usual = [each[0] for each in DATES]
        for place in chance.sample(range(len(DATES)), chance.choice((0, 1, 1, 2, 3))):
            usual[place] = chance.choice(DATES[place])
        return name, json.dumps("".join(usual))
    if name not in PARTS or chance.random() < 0.2:
        return name, str(chance.choice(NUMBERS))
    return name, json.dumps("".join(chance.choice(PARTS[name]) for _ in range(chance.choice((1, 1, 2, 2, 3, 4, 5)))))


def without_classes(node: Any) -> Any:
    if isinstance(node, list):
        return [*map(without_classes, node)]
    if isinstance(node, dict):
        return {name: without_classes(each) for name, each in node.items() if name not in NAMED}
    return node


def fits(text: str) -> Callable[[bytes], bool]:
    schema = formats.parse(SchemaInfo(SchemaType.JSON, text.encode()))
    columns = validator_for(schema.info, schema.info, PulsarVersion.V4_0)

    def is_valid(content: bytes) -> bool:
        findings = payload.validate(schema, content)
        assert bool(findings) == bool(columns.validate(Column.of([content])).reasons[0]), content
        return not findings

    return is_valid


def test_a_class_reads_all_that_fits_and_refuses_each_finding_in_a_value_of_the_schemas_type() -> None:
    drawn = sorted({values(seed, number) for seed in seeds.SEEDS.values() for number in range(seeds.PAIRS * 3)})
    contents = [f'{{"{name}":{value}}}'.encode() for name, value in drawn]
    requests = [{"op": "decode", "box": True, "payload": base64.b64encode(each).decode()} for each in contents]
    described, encoded, *answers = oracle.query(
        [{"op": op, "box": True} for op in ("schema", "encode")] + requests, ORACLE
    )
    of_classes, of_types = fits(described["schema"]), fits(json.dumps(without_classes(json.loads(described["schema"]))))
    assert all(of_classes(base64.b64decode(each)) for each in encoded["payloads"])
    read = [answer["verdict"] is True for answer in answers]
    wrong_yes = [each for each, is_read in zip(contents, read, strict=True) if of_classes(each) and not is_read]
    wrong_no = [
        content
        for (name, _), content, is_read in zip(drawn, contents, read, strict=True)
        if is_read and not of_classes(content) and (of_types(content) or name == "old")
        if name != "url" or not REFUSED_URL.search(content)
    ]
    assert (wrong_yes, wrong_no) == ([], [])
    assert 0 < sum(read) < len(read)
