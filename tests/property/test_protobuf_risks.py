"""The risks of PROTOBUF_NATIVE beside google.protobuf: where nothing is told nothing is lost, and what is told is so.

Files are made at random and changed as people change them; messages are written with the one and read with the other.
"""

from collections.abc import Iterator
from random import Random

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import protobuf_steps as steps
import protobuf_worlds as worlds
from topicschema.core.formats.protobuf_native import FORMAT
from topicschema.core.severity import Severity, severity_of
from topicschema.core.strategies import Direction

RANDOMS = st.randoms(use_true_random=False)
MANY = settings(max_examples=150, deadline=None)
NEITHER = frozenset({Severity.WIRE, Severity.JSON})


def copied(file: FileDescriptorProto) -> FileDescriptorProto:
    made = FileDescriptorProto()
    made.CopyFrom(file)
    return made


def told(older: FileDescriptorProto, newer: FileDescriptorProto, direction: Direction) -> set[str]:
    """The rules of the risks in a direction, whose reader is the newer file under BACKWARD."""
    schemas = worlds.parsed(newer), worlds.parsed(older)
    reader, writer = schemas if direction is Direction.BACKWARD else schemas[::-1]
    return {each.rule for each in FORMAT.risks(reader, writer) if each.only_in in (None, direction)}


def knowing(reader: FileDescriptorProto, writer: FileDescriptorProto) -> worlds.Knows:
    """Numbers that were added to an enum are not written to JSON: readers of JSON do not skip their names."""
    read = {enum.name.rstrip("2"): enum for enum in worlds.enums(reader)}
    by_name = {enum.name: read.get(enum.name.rstrip("2")) for enum in worlds.enums(writer)}

    def knows(name: str, number: int) -> bool:
        found = by_name.get(name.rpartition(".")[2])
        return found is None or any(value.number == number for value in found.value)

    return knows


def evolved(random: Random, kinds: list[steps.Step]) -> tuple[FileDescriptorProto, FileDescriptorProto]:
    """A file, and what some steps make of it."""
    older = worlds.world(random)
    newer = copied(older)
    for step in kinds:
        step(random, newer)
    return older, newer


def classes(older: FileDescriptorProto, newer: FileDescriptorProto) -> tuple[type[Message], type[Message]]:
    found = worlds.root(older), worlds.root(newer)
    assume(None not in found)
    return found  # type: ignore[return-value]


ANY_STEP = [step for found in steps.BREAKING.values() for step in found] + list(steps.HARMLESS)


@given(RANDOMS, st.lists(st.sampled_from(ANY_STEP), min_size=1, max_size=3), st.sampled_from(Direction))
@MANY
def test_where_no_risk_is_told_every_message_arrives_as_it_was_written(
    random: Random, kinds: list[steps.Step], direction: Direction
) -> None:
    older, newer = evolved(random, kinds)
    before, after = classes(older, newer)
    severities = {severity_of(rule) for rule in told(older, newer, direction)}
    backward = direction is Direction.BACKWARD
    reader, writer = (after, before) if backward else (before, after)
    knows = knowing(*((newer, older) if backward else (older, newer)))
    for _ in range(5):
        message = worlds.filled(random, writer, knows)
        if Severity.WIRE not in severities:
            read = worlds.on_the_wire(message, reader)
            assert read is not None
            assert list(worlds.losses(read, message)) == []
        if NEITHER.isdisjoint(severities):
            read = worlds.in_json(message, reader)
            assert read is not None
            assert list(worlds.losses(read, message)) == []


@given(RANDOMS, st.lists(st.sampled_from(steps.HARMLESS), min_size=1, max_size=4))
@MANY
def test_what_people_may_do_at_any_time_is_no_risk(random: Random, kinds: list[steps.Step]) -> None:
    older, newer = evolved(random, kinds)
    classes(older, newer)
    assert told(older, newer, Direction.BACKWARD) == set()
    assert told(older, newer, Direction.FORWARD) <= {"ENUM_VALUE_UNKNOWN"}  # a closed enum


@given(RANDOMS)
@settings(max_examples=60, deadline=None)
def test_no_schema_is_a_risk_to_itself(random: Random) -> None:
    file = worlds.world(random)
    assert told(file, file, Direction.BACKWARD) == set()
    spaced = copied(file)
    spaced.source_code_info.location.add(leading_comments="a comment")
    assert told(file, spaced, Direction.BACKWARD) == told(file, spaced, Direction.FORWARD) == set()


def pairs(rule: str) -> Iterator[tuple[Random, FileDescriptorProto, FileDescriptorProto, Direction]]:
    """Files that differ by the rule's step, the same in every run, in the directions in which the rule is told."""
    for seed in range(120):
        random = Random(seed)  # noqa: S311 - for examples
        older = worlds.world(random)
        newer = copied(older)
        step = steps.BREAKING[rule][seed % len(steps.BREAKING[rule])]
        if step(random, newer) and worlds.root(older) and worlds.root(newer):
            for direction in Direction:
                if rule in told(older, newer, direction):
                    yield random, older, newer, direction


def witnessed(
    rule: str, random: Random, older: FileDescriptorProto, newer: FileDescriptorProto, direction: Direction
) -> bool:
    """Whether a message is read otherwise than it was written; under BACKWARD the newer file reads."""
    before, after = worlds.root(older), worlds.root(newer)
    assert before is not None
    assert after is not None
    reader, writer = (after, before) if direction is Direction.BACKWARD else (before, after)
    carry = worlds.on_the_wire if severity_of(rule) is Severity.WIRE else worlds.in_json
    for _ in range(12):
        message = worlds.filled(random, writer)
        read = carry(message, reader)
        if read is None or next(worlds.losses(read, message), None) or _misses(read, message):
            return True
    return False


def _misses(read: Message, written: Message) -> bool:
    """Whether a field that has one name and two numbers is lost."""
    sent = {field.name for field, _ in read.ListFields()}
    numbers = {field.name: field.number for field in read.DESCRIPTOR.fields}
    return any(
        numbers.get(field.name, field.number) != field.number and field.name not in sent
        for field, _ in written.ListFields()
    )


LATER = {
    "FIELD_NUMBER_NOT_RESERVED",
    "FIELD_NAME_NOT_RESERVED",
    "RESERVED_NUMBER_REMOVED",
    "RESERVED_NAME_REMOVED",
    "ENUM_NUMBER_NOT_RESERVED",
    "EXTENSION_RANGE_REMOVED",
    "UTF8_CHECKED",
}
"""What is shown below: nothing is lost until a third version takes what the second gave away, or only odd bytes are."""
AT_ONCE = [rule for rule in steps.BREAKING if rule not in LATER and severity_of(rule) is not Severity.CODE]
IN_CODE = [rule for rule in steps.BREAKING if severity_of(rule) is Severity.CODE]


@pytest.mark.parametrize("rule", AT_ONCE)
def test_a_risk_is_real_a_message_is_read_otherwise_than_it_was_written(rule: str) -> None:
    assert any(witnessed(rule, *pair) for pair in pairs(rule))


def in_code(file: FileDescriptorProto) -> list[object]:
    """What generated code shows of the messages: names, types, oneofs, and what can be asked for presence."""
    kind = worlds.root(file)
    assert kind is not None
    pool = kind.DESCRIPTOR.file
    waiting = list(pool.message_types_by_name.values())
    found: list[object] = [(enum.name, enum.values_by_name.keys()) for enum in pool.enum_types_by_name.values()]
    for each in waiting:
        waiting.extend(each.nested_types)
        found += [(enum.full_name, enum.values_by_name.keys()) for enum in each.enum_types]
        found += [
            (
                each.full_name,
                field.name,
                field.type,
                field.has_presence,
                field.containing_oneof and field.containing_oneof.name,
            )
            for field in each.fields
        ]
    return found


@pytest.mark.parametrize("rule", IN_CODE)
def test_a_risk_for_code_changes_what_generated_code_shows_and_no_message(rule: str) -> None:
    found = list(pairs(rule))
    assert found
    for random, older, newer, direction in found:
        assert in_code(older) != in_code(newer)
        if {severity_of(each) for each in told(older, newer, direction)} == {Severity.CODE}:
            assert not witnessed(rule, random, older, newer, direction)
