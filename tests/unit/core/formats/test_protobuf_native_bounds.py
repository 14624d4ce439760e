"""Where this reader of envelopes stops, to the figure; and which figures a default may have, to the last.

A bound is reached by 50,000 definitions or by files that see each other that often, for some seconds.
"""

import json
from typing import Final

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from support.schemas import protobuf_schemas
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import Kind, defaults, files, linking, symbols
from topicschema.core.schemas import SchemaInfo, SchemaType

SIGNED: Final = {32: (Kind.INT32, Kind.SINT32, Kind.SFIXED32), 64: (Kind.INT64, Kind.SINT64, Kind.SFIXED64)}
UNSIGNED: Final = {32: (Kind.UINT32, Kind.FIXED32), 64: (Kind.UINT64, Kind.FIXED64)}


def refused(*made: FileDescriptorProto) -> str:
    """What is said of the files, of which the last is the root; empty where they are taken."""
    root = f"{made[-1].package}.M" if made[-1].package else "M"
    envelope = protobuf_schemas.envelope(FileDescriptorSet(file=made), root, made[-1].name)
    try:
        formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode()))
    except InvalidSchemaError as error:
        return f"{error.rule}: {error.message}"
    return ""


def file(name: str = "m.proto", package: str = "p") -> FileDescriptorProto:
    made = FileDescriptorProto(name=name, package=package)
    made.message_type.add(name="M")
    return made


@pytest.mark.parametrize(
    ("package", "is_read"),
    [
        ("a" * (symbols.MAX_NAME - 2), True),  # the message p.M has a name, too
        ("a" * symbols.MAX_NAME, False),
        ("a" * (symbols.MAX_NAME + 1), False),
        (".".join("a" * (symbols.MAX_PACKAGE_DOTS + 1)), True),
        (".".join("a" * (symbols.MAX_PACKAGE_DOTS + 2)), False),
    ],
)
def test_a_packages_name_has_a_bound(package: str, *, is_read: bool) -> None:
    assert (refused(file(package=package)) == "") == is_read


def test_a_package_that_is_too_long_is_told_before_its_messages_are() -> None:
    made = file(package="a" * (symbols.MAX_NAME + 1))
    assert "the package's name is longer than is read" in refused(made)


def test_a_full_name_has_a_bound() -> None:
    made = file()
    made.message_type.add(name="N" * (symbols.MAX_NAME - len("p.")))
    assert refused(made) == ""
    made.message_type.add(name="O" * (symbols.MAX_NAME - len("p.") + 1))
    assert f"more than {symbols.MAX_NAME} characters" in refused(made)


def test_a_name_in_a_message_is_cut_where_it_is_longer_than_a_line() -> None:
    assert symbols.shown("a" * 120) == "a" * 120
    assert symbols.shown("a" * 121) == "a" * 120 + "…"


def test_a_set_of_files_has_a_bound_of_definitions() -> None:
    imported, root = file("a.proto", "q"), file()
    root.dependency.append("a.proto")
    for number in range(files.MAX_DEFINITIONS - 4):  # two files with a message each
        imported.message_type[0].reserved_range.add(start=number, end=number + 1)
    assert refused(imported, root) == ""
    imported.message_type.add(name="N")
    assert refused(imported, root) == (
        "INVALID_DESCRIPTOR_SET: the files define more than 50,000 messages, fields, values and ranges"
    )


def test_files_may_see_each_other_so_often_and_no_more() -> None:
    count = round((2 * linking.MAX_VISIBLE) ** 0.5)
    made = [file(f"{number}.proto", f"p{number}") for number in range(count)]
    for number, each in enumerate(made):
        each.dependency.extend(f"{earlier}.proto" for earlier in range(number))
    assert sum(range(count)) < linking.MAX_VISIBLE < sum(range(count + 1))
    left = linking.MAX_VISIBLE - sum(range(count))
    last = file("last.proto", "o")
    last.dependency.extend(f"{earlier}.proto" for earlier in range(count - left, count))
    assert refused(*made, last) == ""
    last.dependency.append("0.proto")
    assert refused(*made, last).startswith("INVALID_DESCRIPTOR: the files see more than 250,000 others")


@pytest.mark.parametrize("bits", [32, 64])
def test_an_integers_default_has_the_range_of_its_kind_and_no_more(bits: int) -> None:
    for kind in SIGNED[bits]:
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        assert [defaults.is_default(kind, str(each)) for each in (low - 1, low, high, high + 1)] == [0, 1, 1, 0]
        assert [defaults.is_default(kind, f"{each:#x}") for each in (low - 1, low, high, high + 1)] == [0, 1, 1, 0]
    for kind in UNSIGNED[bits]:
        assert [defaults.is_default(kind, str(each)) for each in (-1, 0, 2**bits - 1, 2**bits)] == [0, 1, 1, 0]
        assert [defaults.is_default(kind, f"0{each:o}") for each in (0, 2**bits - 1, 2**bits)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        *(
            (text, True)
            for text in ("\\0", "\\77", "\\777", "\\0000", "\\xA", "\\xAf0", "\\a\\?\\'\\\"", "\\U0000E000")
        ),
        *((text, False) for text in ("\\8", "\\xg", "\\u123", "\\uDBFF", "\\U0000D800", "\\U00200000", "a\\")),
    ],
)
def test_a_text_of_bytes_has_escapes_that_c_has(text: str, *, fits: bool) -> None:
    assert defaults.is_default(Kind.BYTES, text) == fits
    assert defaults.is_default(Kind.BYTES, f"before{text}") == fits


def test_the_innermost_scope_that_knows_the_first_part_of_a_name_decides() -> None:
    made = file()
    made.message_type[0].nested_type.add(name="N")
    made.message_type.add(name="N").nested_type.add(name="X")
    made.message_type[0].field.add(name="f", number=1, label=1, type=11, type_name=".p.N.X")
    assert refused(made) == ""
    made.message_type[0].field[0].type_name = "N.X"  # p.M.N is nearer than p.N, and has no X
    assert "'N.X' is not defined" in refused(made)


@pytest.mark.parametrize("package", ["p.M", "p.M.q", "p.M.q.r"])
def test_a_message_may_have_the_name_of_no_package_that_is_imported_nor_of_a_part_of_it(package: str) -> None:
    imported, root = file("n.proto", package), file()
    root.dependency.append("n.proto")
    assert "the name is that of a package already" in refused(imported, root)
