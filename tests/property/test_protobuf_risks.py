"""The risks of PROTOBUF_NATIVE beside google.protobuf: without a risk nothing is lost, and each risk is real.

Files are made at random and changed as people change them; messages are written with the one and read with the other.
A property compiles some hundred pairs of files, for some seconds.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from protobuf_evolution import random_files, readings, steps
from support.schemas import protobuf_schemas
from support.schemas.avro_schemas import seeded
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.severity import Severity, severity_of
from topicschema.core.strategies import Direction

RANDOMS = st.randoms(use_true_random=False)
MANY = settings(max_examples=100, deadline=None)
NEITHER = frozenset({Severity.WIRE, Severity.JSON})


def knowing(reader: FileDescriptorProto, writer: FileDescriptorProto) -> readings.Knows:
    """Return a test for numbers in JSON: not those added to an enum, whose names readers do not skip."""
    read = {enum.name.rstrip("2"): enum for enum in random_files.enums(reader)}
    by_name = {enum.name: read.get(enum.name.rstrip("2")) for enum in random_files.enums(writer)}

    def knows(name: str, number: int) -> bool:
        enum = by_name.get(name.rpartition(".")[2])
        return enum is None or any(value.number == number for value in enum.value)

    return knows


def evolved(random: Random, kinds: list[steps.Step]) -> tuple[FileDescriptorProto, FileDescriptorProto]:
    """Return a file, and the same after some steps."""
    older = random_files.random_file(random)
    newer = random_files.copied(older)
    for step in kinds:
        step(random, newer)
    return older, newer


def classes(older: FileDescriptorProto, newer: FileDescriptorProto) -> tuple[type[Message], type[Message]]:
    kinds = random_files.root(older), random_files.root(newer)
    assume(None not in kinds)
    return kinds  # type: ignore[return-value]


ANY_STEP = [step for each in steps.BREAKING.values() for step in each] + list(steps.HARMLESS)


@given(RANDOMS, st.lists(st.sampled_from(ANY_STEP), min_size=1, max_size=3), st.sampled_from(Direction))
@MANY
def test_without_a_reported_risk_every_message_arrives_as_it_was_written(
    random: Random, kinds: list[steps.Step], direction: Direction
) -> None:
    older, newer = evolved(random, kinds)
    before, after = classes(older, newer)
    severities = {severity_of(rule) for rule in random_files.risk_rules(older, newer, direction)}
    backward = direction is Direction.BACKWARD
    reader, writer = (after, before) if backward else (before, after)
    knows = knowing(*((newer, older) if backward else (older, newer)))
    for _ in range(5):
        message = readings.filled(random, writer, knows)
        if Severity.WIRE not in severities:
            read = readings.on_the_wire(message, reader)
            assert read is not None
            assert list(readings.losses(read, message)) == []
        if NEITHER.isdisjoint(severities):
            read = readings.in_json(message, reader)
            assert read is not None
            assert list(readings.losses(read, message)) == []


@given(RANDOMS, st.lists(st.sampled_from(steps.HARMLESS), min_size=1, max_size=4))
@MANY
def test_a_change_that_is_always_allowed_is_no_risk(random: Random, kinds: list[steps.Step]) -> None:
    older, newer = evolved(random, kinds)
    classes(older, newer)
    assert random_files.risk_rules(older, newer, Direction.BACKWARD) == set()
    assert random_files.risk_rules(older, newer, Direction.FORWARD) <= {"ENUM_VALUE_UNKNOWN"}  # a closed enum


@given(RANDOMS)
@settings(max_examples=30, deadline=None)
def test_no_schema_is_a_risk_to_itself(random: Random) -> None:
    file = random_files.random_file(random)
    assert random_files.risk_rules(file, file, Direction.BACKWARD) == set()
    spaced = random_files.copied(file)
    spaced.source_code_info.location.add(leading_comments="a comment")
    assert (
        random_files.risk_rules(file, spaced, Direction.BACKWARD)
        == random_files.risk_rules(file, spaced, Direction.FORWARD)
        == set()
    )


@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=0, max_value=3))
@MANY
def test_descriptors_that_no_compiler_wrote_are_compared_too(seed: int, mistakes: int) -> None:
    texts = (protobuf_schemas.random_envelope(seeded(seed), many) for many in (0, mistakes))
    try:
        reader, writer = (formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, text)) for text in texts)
    except InvalidSchemaError:
        return
    for risks in (formats.risks(reader, writer), formats.risks(writer, reader)):
        assert all(severity_of(each.rule) for each in risks)
        assert all(len(each.message) < 500 for each in risks)


def pairs(rule: str) -> Iterator[tuple[Random, FileDescriptorProto, FileDescriptorProto, Direction]]:
    """Yield files that differ by the rule's step, the same in every run, in the directions in which it is reported."""
    for seed in range(60):
        random = Random(seed)  # noqa: S311 - for examples
        older = random_files.random_file(random)
        newer = random_files.copied(older)
        step = steps.BREAKING[rule][seed % len(steps.BREAKING[rule])]
        if step(random, newer) and random_files.root(older) and random_files.root(newer):
            for direction in Direction:
                if rule in random_files.risk_rules(older, newer, direction):
                    yield random, older, newer, direction


def witnessed(
    rule: str, random: Random, older: FileDescriptorProto, newer: FileDescriptorProto, direction: Direction
) -> bool:
    """Return True if a message is read otherwise than it was written; under BACKWARD the newer file reads."""
    before, after = random_files.root(older), random_files.root(newer)
    assert before is not None
    assert after is not None
    reader, writer = (after, before) if direction is Direction.BACKWARD else (before, after)
    is_of_names = severity_of(rule) is not Severity.WIRE or rule == "ENUM_NUMBER_NOT_RESERVED"
    carry = readings.in_json if is_of_names else readings.on_the_wire
    for _ in range(12):
        message = readings.filled(random, writer)
        read = carry(message, reader)
        if read is None or next(readings.losses(read, message), None) or _misses(read, message):
            return True
    return False


def _misses(read: Message, written: Message) -> bool:
    """Return True if a field with one name and two numbers is lost."""
    sent = {field.name for field, _ in read.ListFields()}
    numbers = {field.name: field.number for field in read.DESCRIPTOR.fields}
    return any(
        numbers.get(field.name, field.number) != field.number and field.name not in sent
        for field, _ in written.ListFields()
    )


LATER = {
    "FIELD_NUMBER_NOT_RESERVED": steps.take_numbers,
    "FIELD_NAME_NOT_RESERVED": steps.take_names,
    "ENUM_NUMBER_NOT_RESERVED": steps.take_numbers,
}
"""Rules without harm until a third version uses what the second one freed, which its own judgment does not show."""
NOT_BY_CHANCE = {"UTF8_CHECKED", "EXTENSION_RANGE_REMOVED", "RESERVED_NUMBER_REMOVED", "RESERVED_NAME_REMOVED"}
"""Rules that have tests of their own."""
AT_ONCE = [
    rule
    for rule in steps.BREAKING
    if rule not in LATER and rule not in NOT_BY_CHANCE and severity_of(rule) is not Severity.CODE
]
IN_CODE = [rule for rule in steps.BREAKING if severity_of(rule) is Severity.CODE]


@pytest.mark.parametrize("rule", AT_ONCE)
def test_a_risk_is_real_a_message_is_read_otherwise_than_it_was_written(rule: str) -> None:
    assert any(witnessed(rule, *pair) for pair in pairs(rule))


@pytest.mark.parametrize("rule", LATER)
def test_a_lapse_is_real_a_later_version_may_use_what_was_freed_without_a_report(rule: str) -> None:
    assert any(_lapsed(rule, *pair) for pair in pairs(rule))


def _lapsed(
    rule: str, random: Random, first: FileDescriptorProto, second: FileDescriptorProto, direction: Direction
) -> bool:
    third = random_files.copied(second)
    if not LATER[rule](random, first, third) or random_files.root(third) is None:
        return False
    reported = random_files.risk_rules(second, third, Direction.BACKWARD) | random_files.risk_rules(
        second, third, Direction.FORWARD
    )
    return reported <= {"ENUM_VALUE_UNKNOWN"} and witnessed(rule, random, first, third, Direction.BACKWARD)


def in_code(file: FileDescriptorProto) -> list[object]:
    """Return what generated code shows of the messages: names, types, oneofs, and the presence of fields."""
    kind = random_files.root(file)
    assert kind is not None
    pool = kind.DESCRIPTOR.file
    waiting: list[Any] = list(pool.message_types_by_name.values())
    shown: list[object] = [(enum.name, enum.values_by_name.keys()) for enum in pool.enum_types_by_name.values()]
    for each in waiting:
        waiting.extend(each.nested_types)
        shown += [(enum.full_name, enum.values_by_name.keys()) for enum in each.enum_types]
        shown += [
            (
                each.full_name,
                field.name,
                field.type,
                field.has_presence,
                field.containing_oneof and field.containing_oneof.name,
            )
            for field in each.fields
        ]
    return shown


@pytest.mark.parametrize("rule", IN_CODE)
def test_a_risk_for_code_changes_what_generated_code_shows_and_no_message(rule: str) -> None:
    examples = list(islice(pairs(rule), 15))
    assert examples
    for random, older, newer, direction in examples:
        assert in_code(older) != in_code(newer)
        if {severity_of(each) for each in random_files.risk_rules(older, newer, direction)} == {Severity.CODE}:
            assert not witnessed(rule, random, older, newer, direction)
