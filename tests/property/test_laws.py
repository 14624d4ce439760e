"""Laws of the verdict on any schemas of every type. The reading of messages is in `test_readers`.

A property draws some hundred pairs of schemas of every type, for some seconds.
"""

import json
import os
import re
import subprocess
import sys
from random import Random
from typing import Any, Final

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.schemas import avro_readings, avro_schemas, families
from support.schemas.avro import unreadable
from support.sizes import sized
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import key_value
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

RANDOMS: Final = st.randoms(use_true_random=False)
TYPES: Final = st.sampled_from(families.TYPES)
AVRO_TEXTS: Final = st.sampled_from(families.AVRO_TEXTS)
MANY: Final = settings(max_examples=sized(50, 150), deadline=None)
BOTH_WAYS: Final = (Strategy.BACKWARD_TRANSITIVE, Strategy.FORWARD_TRANSITIVE, Strategy.FULL_TRANSITIVE)
# Findings of Avro's own validator for a schema and itself: records without end, and names that its aliases change.
UNREADABLE_BY_ALL: Final = {"INFINITE_RECORD", "RECURSIVE_RECORD_CRASHES_AVRO"}
# Which records meet depends on the reader, if a union's branch is guessed or a field has an alias.
GUESSED: Final = {"CLASS_RENAMED"}
_STEP: Final = re.compile(r'\.([^.\[]+)|\[([0-9]+)\]|\[("(?:[^"\\]|\\.)*")\]')


def family(random: Random, kind: SchemaType, count: int) -> list[Schema]:
    schemas = families.family(random, kind, count)
    assume(len(schemas) == count)
    return schemas


def check(candidate: Schema, history: list[Schema], strategy: Strategy) -> tuple[Incompatibility, ...]:
    considered = [Predecessor(number, each.info.type, each) for number, each in enumerate(history)]
    return compatibility.check(candidate, considered if strategy.is_transitive else considered[-1:], strategy)


def without_messages(incompatibilities: tuple[Incompatibility, ...]) -> set[tuple[Any, ...]]:
    """Return the incompatibilities without messages: of a mutual rule these name the reader first, which differs."""
    return {(each.rule, each.path, each.direction, each.schema_version) for each in incompatibilities}


@given(RANDOMS, TYPES)
@MANY
def test_a_schema_may_follow_itself(random: Random, kind: SchemaType) -> None:
    [schema] = family(random, kind, 1)
    assume(b"aliases" not in schema.info.schema)  # Avro takes a schema's own aliases for another's
    for strategy in BOTH_WAYS:
        assert {each.rule for each in check(schema, [schema], strategy)} <= UNREADABLE_BY_ALL
    if schema.info.schema:
        again = formats.parse(schema.info)  # another object, with nothing shared
        assert without_messages(check(again, [schema], Strategy.FULL_TRANSITIVE)) == without_messages(
            check(schema, [schema], Strategy.FULL_TRANSITIVE)
        )


def without_aliases(value: Any, **properties: Any) -> Any:
    """Return the schema without aliases, and with these properties on every type."""
    if isinstance(value, list):
        return [without_aliases(each, **properties) for each in value]
    if not isinstance(value, dict):
        return value
    members = {
        name: each if name == "default" else without_aliases(each, **properties)
        for name, each in value.items()
        if name != "aliases"
    }
    return members | properties if "type" in value else members


@given(RANDOMS)
@settings(max_examples=sized(100, 300), deadline=None)
def test_a_schema_reads_what_differs_in_properties_alone(random: Random) -> None:
    text = json.loads(avro_readings.pair(random)[0])
    plain, marked = without_aliases(text), without_aliases(text, marked=True)
    try:
        for reader, writer in ((plain, plain), (marked, plain), (plain, marked)):
            assert {each.rule for each in unreadable(reader, writer)} <= UNREADABLE_BY_ALL
    except InvalidSchemaError:
        assume(False)  # noqa: FBT003  # the edits of the generator may break a text


@given(RANDOMS, TYPES)
@MANY
def test_full_is_backward_and_forward(random: Random, kind: SchemaType) -> None:
    candidate, *history = family(random, kind, 4)
    for suffix in ("", "_TRANSITIVE"):
        full, backward, forward = (
            without_messages(check(candidate, history, Strategy(name + suffix)))
            for name in ("FULL", "BACKWARD", "FORWARD")
        )
        assert full == backward | forward


@given(RANDOMS, TYPES)
@MANY
def test_what_passes_against_all_versions_passes_against_the_latest_and_against_each(
    random: Random, kind: SchemaType
) -> None:
    candidate, *history = family(random, kind, 4)
    for strategy in BOTH_WAYS:
        everything = check(candidate, history, strategy)
        latest = Strategy(strategy.removesuffix("_TRANSITIVE"))
        assert set(check(candidate, history, latest)) <= set(everything)
        for number, version in enumerate(history):
            alone = compatibility.check(candidate, [Predecessor(number, version.info.type, version)], strategy)
            assert alone == tuple(each for each in everything if each.schema_version == number)
        versions = [each.schema_version for each in everything]
        assert versions == sorted(versions, key=lambda number: -(number or 0))


@given(RANDOMS, TYPES)
@MANY
def test_what_is_mutual_is_reported_from_both_sides(random: Random, kind: SchemaType) -> None:
    one, other = family(random, kind, 2)
    for compare in (formats.unreadable, formats.risks):
        there, back = (
            {
                (each.rule, each.reader_path, each.writer_path)
                for each in compare(*pair)
                if each.is_mutual and each.rule not in GUESSED
            }
            for pair in ((one, other), (other, one))
        )
        assert there == {(rule, reader, writer) for rule, writer, reader in back}


@given(RANDOMS, AVRO_TEXTS)
@MANY
def test_equal_fingerprints_are_judged_alike_against_anything(random: Random, kind: SchemaType) -> None:
    """Check them without aliases, which the broker's dedupe ignores and its reader does not."""
    schema, *others = family(random, kind, 3)
    twin = formats.parse(SchemaInfo(kind, _rewritten(random, json.loads(schema.info.schema)).encode()))
    assert twin.fingerprint == schema.fingerprint
    for other in others:
        for strategy in BOTH_WAYS:
            assert check(twin, [other], strategy) == check(schema, [other], strategy)
            assert without_messages(check(other, [twin], strategy)) == without_messages(
                check(other, [schema], strategy)
            )


def _rewritten(random: Random, value: Any) -> str:
    """Return the same schema in another spelling: other order of members, other space, documented."""
    return json.dumps(
        _shuffled(random, value), indent=random.choice((None, 1, "\t")), ensure_ascii=random.random() < 0.5
    )


def _shuffled(random: Random, value: Any) -> Any:
    if isinstance(value, list):
        return [_shuffled(random, each) for each in value]
    if not isinstance(value, dict):
        return value
    members = [(name, each if name == "default" else _shuffled(random, each)) for name, each in value.items()]
    if "fields" in value:
        members = [*((name, each) for name, each in members if name != "doc"), ("doc", "rewritten")]
    random.shuffle(members)
    return dict(members)


@given(RANDOMS, TYPES)
@MANY
def test_the_place_of_a_finding_is_in_the_candidates_text(random: Random, kind: SchemaType) -> None:
    candidate, *history = family(random, kind, 3)
    incompatibilities = check(candidate, history, Strategy.FULL_TRANSITIVE)
    if incompatibilities and incompatibilities[0].rule != "TYPE_CHANGED":
        text = _text(candidate)
        for each in incompatibilities:
            assert _exists(text, each.path), each


@given(RANDOMS, AVRO_TEXTS)
@MANY
def test_the_place_of_a_refusal_is_in_the_text(random: Random, kind: SchemaType) -> None:
    text = avro_schemas.spoilt(random)
    place = _refused_at(SchemaInfo(kind, text.encode("utf-8", "surrogatepass")))
    if place is None:
        return
    if place.line is None:
        assert _exists(json.loads(_without_comments(text)), place.path), place
    lines = re.split(r"\r\n|\r|\n", text)
    line, column = place.line or 1, place.column or 1
    assert 1 <= line <= len(lines)
    assert 1 <= column <= len(lines[line - 1]) + 1


def _refused_at(info: SchemaInfo) -> Place | None:
    try:
        formats.parse(info)
    except InvalidSchemaError as error:
        return error.place
    return None


def _without_comments(text: str) -> str:
    string_or_comment = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
    return string_or_comment.sub(lambda match: match[1] or " ", text)


def _text(schema: Schema) -> Any:
    if schema.info.type is SchemaType.KEY_VALUE:
        parts = key_value.decode(schema.info).parts
        return {side.value: json.loads(part.info.schema or b'""') for side, part in parts}
    return json.loads(schema.info.schema)


def _exists(value: Any, path: str) -> bool:
    assert re.fullmatch(rf"\$(?:{_STEP.pattern})*", path), path
    for name, index, quoted in _STEP.findall(path):
        try:
            value = value[int(index) if index else name or json.loads(quoted)]
        except (LookupError, TypeError):
            return False
    return True


_PROGRAM: Final = """
import hashlib
from support.schemas import families
from support.schemas.avro_schemas import seeded
from topicschema.core import compatibility
from topicschema.core.compatibility import Predecessor
from topicschema.core.strategies import Strategy

digest = hashlib.sha256()
for seed in range(40):
    for kind in families.TYPES[:5]:
        candidate, *history = families.family(seeded(seed), kind, 4) or [None]
        considered = [Predecessor(number, each.info.type, each) for number, each in enumerate(history)]
        for strategy in Strategy if candidate else ():
            digest.update(repr(compatibility.check(candidate, considered, strategy)).encode())
            digest.update(candidate.fingerprint.encode())
print(digest.hexdigest())
"""


def test_a_verdict_and_its_order_are_the_same_in_every_process() -> None:
    children = [
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        for seed in ("0", "4711")
    ]
    assert len({child.stdout for child in children}) == 1
