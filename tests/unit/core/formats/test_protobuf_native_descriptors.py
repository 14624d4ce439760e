"""What the descriptors of an envelope may say, and the model that is made of them."""

import contextlib
import json
from collections.abc import Callable

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from hypothesis import given, settings
from hypothesis import strategies as st

from support.schemas import protobuf_schemas
from support.schemas.avro_schemas import seeded
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import Descriptors, Kind, Label, ProtobufNativeSchema, Range, defaults
from topicschema.core.schemas import SchemaInfo, SchemaType

SEEDS = st.integers(min_value=0, max_value=2**32)
INT32, STRING, BYTES, MESSAGE, ENUM = 5, 9, 12, 11, 14
OPTIONAL, REPEATED = 1, 3


def file(syntax: str = "proto3") -> FileDescriptorProto:
    made = FileDescriptorProto(name="m.proto", package="p", syntax=syntax)
    made.message_type.add(name="M")
    return made


def parsed(*files: FileDescriptorProto) -> Descriptors:
    """All files, of which the last is the root and its first message the root message."""
    root = f"{files[-1].package}.{files[-1].message_type[0].name}"
    envelope = protobuf_schemas.envelope(FileDescriptorSet(file=files), root, files[-1].name)
    found = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode()))
    assert isinstance(found, ProtobufNativeSchema)
    return found.descriptors


def refusal(*files: FileDescriptorProto) -> str:
    with pytest.raises(InvalidSchemaError) as error:
        parsed(*files)
    assert (error.value.rule, error.value.place.path) == ("INVALID_DESCRIPTOR", "$.fileDescriptorSet")
    return error.value.message


def field(message: DescriptorProto, kind: int = INT32, **more: object) -> FieldDescriptorProto:
    number = len(message.field) + 1
    members = {"name": f"f{number}", "number": number, "label": OPTIONAL, "type": kind, **more}
    return message.field.add(**members)  # type: ignore[arg-type]


def test_the_model_says_what_the_descriptors_say() -> None:
    made = file()
    made.enum_type.add(name="Colour").value.add(name="RED", number=7)
    message = made.message_type[0]
    message.oneof_decl.add(name="choice")
    message.oneof_decl.add(name="_f4")
    entry = message.nested_type.add(name="MapEntry")
    entry.options.map_entry = True
    field(entry, STRING)
    field(entry, MESSAGE, type_name=".p.M")
    field(message, STRING, json_name="eff")
    field(message, ENUM, type_name="Colour", oneof_index=0)
    field(message, MESSAGE, type_name="MapEntry", label=REPEATED)
    field(message, BYTES, oneof_index=1, proto3_optional=True)
    message.reserved_range.add(start=50, end=53)
    message.reserved_name.append("old")
    message.extension_range.add(start=100, end=101)
    found = parsed(made)
    root = found.root
    assert (root.full_name, root.file, root.oneofs) == ("p.M", "m.proto", ("choice",))
    assert [(each.kind, each.label, each.type_name, each.oneof) for each in root.fields.values()] == [
        (Kind.STRING, Label.OPTIONAL, "", None),
        (Kind.ENUM, Label.OPTIONAL, "p.Colour", "choice"),
        (Kind.MESSAGE, Label.REPEATED, "p.M.MapEntry", None),
        (Kind.BYTES, Label.OPTIONAL, "", None),
    ]
    assert root.fields[1].json_name == "eff"
    assert [each.is_proto3_optional for each in root.fields.values()] == [False, False, False, True]
    assert (root.reserved_numbers, root.reserved_names) == ((Range(50, 52),), frozenset({"old"}))
    assert 52 in root.reserved_numbers[0]
    assert 53 not in root.reserved_numbers[0]
    assert root.extension_numbers == (Range(100, 100),)
    assert found.messages["p.M.MapEntry"].is_map_entry
    assert dict(found.enums["p.Colour"].values) == {"RED": 7}
    assert found.files["m.proto"].syntax == "proto3"


def test_fields_come_in_the_order_of_their_numbers() -> None:
    made = file()
    field(made.message_type[0], number=9)
    field(made.message_type[0], number=3)
    assert list(parsed(made).root.fields) == [3, 9]


@pytest.mark.parametrize(("syntax", "told"), [("", "proto2"), ("proto3", "proto3"), ("editions", "edition 1000")])
def test_a_file_tells_its_syntax(syntax: str, told: str) -> None:
    made = file(syntax)
    if syntax == "editions":
        made.edition = 1000  # type: ignore[assignment]  # the stubs have their own type for enums
    assert parsed(made).files["m.proto"].syntax == told


def test_a_public_import_shows_what_it_imports_and_another_does_not() -> None:
    deep = FileDescriptorProto(name="deep.proto", package="q")
    deep.message_type.add(name="D")
    middle = FileDescriptorProto(name="middle.proto", package="r", dependency=["deep.proto"])
    root = file()
    root.dependency.append("middle.proto")
    field(root.message_type[0], MESSAGE, type_name=".q.D")
    assert "'.q.D' is not defined" in refusal(deep, middle, root)
    middle.public_dependency.append(0)
    assert parsed(deep, middle, root).root.fields[1].type_name == "q.D"
    middle.public_dependency[0] = 1
    assert "public_dependency 1" in refusal(deep, middle, root)


def test_a_relative_name_means_the_innermost_thing_of_that_name() -> None:
    made = file()
    made.message_type.add(name="N")
    made.message_type[0].nested_type.add(name="N")
    field(made.message_type[0], MESSAGE, type_name="N")
    field(made.message_type[0], MESSAGE, type_name="M.N")
    field(made.message_type[0], MESSAGE, type_name=".p.N")
    assert [each.type_name for each in parsed(made).root.fields.values()] == ["p.M.N", "p.M.N", "p.N"]
    field(made.message_type[0], MESSAGE, type_name="N.Missing")
    assert "'N.Missing' is not defined" in refusal(made)


def test_a_field_without_a_type_has_that_of_its_type_name() -> None:
    made = file()
    made.enum_type.add(name="E").value.add(name="V", number=0)
    for name in ("M", "E"):
        field(made.message_type[0], type_name=name).ClearField("type")
    assert [each.kind for each in parsed(made).root.fields.values()] == [Kind.MESSAGE, Kind.ENUM]


def test_a_name_that_two_imports_define_may_not_be_used() -> None:
    imports = [FileDescriptorProto(name=f"{n}.proto", package="q") for n in range(2)]
    for each in imports:
        each.message_type.add(name="D")
    root = file()
    root.dependency.extend(["0.proto", "1.proto"])
    assert parsed(*imports, root).messages["q.D"].file == "0.proto"
    field(root.message_type[0], MESSAGE, type_name=".q.D")
    assert "more than one imported file" in refusal(*imports, root)


SPOILT: dict[str, Callable[[FileDescriptorProto, DescriptorProto], object]] = {
    "is no name": lambda _, message: field(message, name="1a"),
    "'é' is no name": lambda file, _: file.message_type.add(name="é"),
    "is that of a message already": lambda file, _: file.message_type.add(name="M"),
    "has the number 1 already": lambda _, message: (field(message), field(message, number=1)),
    "no field's number": lambda _, message: field(message, number=0),
    "no oneof 0": lambda _, message: field(message, oneof_index=0),
    "extends nothing": lambda _, message: field(message, extendee=".p.M"),
    "type is missing": lambda _, message: field(message, MESSAGE),
    "is a message, the field is of type INT32": lambda _, message: field(message, type_name="M"),
    "the field is of type ENUM": lambda _, message: field(message, ENUM, type_name="M"),
    "at least one value": lambda file, _: file.enum_type.add(name="E"),
    "can be packed": lambda _, message: setattr(field(message).options, "packed", True),
    "has no default": lambda _, message: field(message, label=REPEATED, default_value="1"),
    "does not fit the type INT32": lambda _, message: field(message, default_value="x"),
    "has extensions only": lambda _, message: (
        setattr(message.options, "message_set_wire_format", True),
        field(message),
    ),
    "says what it extends": lambda file, _: file.extension.add(name="e", number=100, type=INT32, label=OPTIONAL),
    "does not declare 100": lambda file, _: file.extension.add(
        name="e", number=100, type=INT32, label=OPTIONAL, extendee="M"
    ),
    "stands in no oneof": lambda file, _: file.extension.add(
        name="e", number=100, type=INT32, label=OPTIONAL, extendee="M", oneof_index=0
    ),
    "p.S.call: the type 'X' is not defined": lambda file, _: file.service.add(name="S").method.add(
        name="call", input_type="X", output_type="M"
    ),
    "come behind all others": lambda _, message: (
        message.oneof_decl.add(name="a"),
        message.oneof_decl.add(name="b"),
        field(message, oneof_index=0, proto3_optional=True),
    ),
    "longer than is read": lambda file, _: setattr(file, "package", "a." * 100 + "a"),
    "more than 512 characters": lambda file, _: file.message_type.add(name="a" * 600),
}


@pytest.mark.parametrize("words", SPOILT)
def test_what_protobufs_java_library_does_not_build_is_refused_with_the_name(words: str) -> None:
    made = file()
    SPOILT[words](made, made.message_type[0])
    message = refusal(made)
    assert message.startswith("m.proto")
    assert words in message
    assert len(message) < 512


def test_an_enums_default_is_one_of_its_values() -> None:
    made = file("proto2")
    made.enum_type.add(name="E").value.add(name="V", number=0)
    default = field(made.message_type[0], ENUM, type_name="E", default_value="V")
    assert parsed(made).root.fields[1].default == "V"
    default.default_value = "W"
    assert "does not fit the type ENUM" in refusal(made)


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        (
            Kind.INT32,
            ["0", "-2147483648", "0x7fffffff", "-017", "+5"],
            ["2147483648", "08", "1.0", "", "0x", "1" * 9999],
        ),
        (Kind.UINT32, ["4294967295", "0"], ["-1", "-0", "4294967296"]),
        (Kind.SINT64, ["-9223372036854775808"], ["9223372036854775808"]),
        (Kind.FIXED64, ["18446744073709551615", "01777777777777777777777"], ["18446744073709551616"]),
        (Kind.DOUBLE, ["1", "-1.5e10", "inf", "-inf", "nan", ".5", "5.", "1f", " 1 "], ["", "-nan", "1e", "e5", "x"]),
        (Kind.BYTES, ["", "a\\n\\377\\x4\\\\\\u00e9\\U0010FFFF", "é"], ["\\", "\\9", "\\x", "\\ud800", "\\U00110000"]),
        (Kind.BOOL, ["true", "anything"], []),
        (Kind.STRING, ["\\"], []),
    ],
)
def test_a_default_fits_its_kind(kind: Kind, fits: list[str], does_not: list[str]) -> None:
    assert [text for text in fits if not defaults.is_default(kind, text)] == []
    assert [text for text in does_not if defaults.is_default(kind, text)] == []


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_every_type_that_a_field_names_is_in_the_model(seed: int) -> None:
    info = SchemaInfo(SchemaType.PROTOBUF_NATIVE, protobuf_schemas.random_envelope(seeded(seed), 0))
    try:
        schema = formats.parse(info)
    except InvalidSchemaError:
        return
    assert isinstance(schema, ProtobufNativeSchema)
    found = schema.descriptors
    assert found.messages[found.root.full_name].full_name == found.root.full_name
    for message in found.messages.values():
        for number, each in message.fields.items():
            assert each.number == number
            assert each.oneof is None or each.oneof in message.oneofs
            if each.kind is Kind.ENUM:
                assert each.type_name in found.enums
            elif each.kind in (Kind.MESSAGE, Kind.GROUP):
                assert each.type_name in found.messages


@given(st.binary(max_size=4), SEEDS)
@settings(max_examples=150, deadline=None)
def test_no_envelope_raises_anything_else(noise: bytes, seed: int) -> None:
    random = seeded(seed)
    content = bytearray(protobuf_schemas.random_envelope(random, 3))
    at = random.randrange(len(content))
    content[at : at + random.randrange(3)] = noise
    with contextlib.suppress(InvalidSchemaError):
        formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, bytes(content)))


@pytest.mark.parametrize(("number", "fits"), [(99, False), (100, True), (199, True), (200, False), (300, True)])
def test_an_extension_has_a_number_that_its_message_declares(number: int, *, fits: bool) -> None:
    made = file("proto2")
    made.message_type[0].extension_range.add(start=300, end=301)
    made.message_type[0].extension_range.add(start=100, end=200)
    made.extension.add(name="e", number=number, type=INT32, label=OPTIONAL, extendee=".p.M")
    if fits:
        assert parsed(made).root.extension_numbers == (Range(300, 300), Range(100, 199))
    else:
        assert f"p.M does not declare {number}" in refusal(made)


def test_a_message_set_takes_optional_messages_only() -> None:
    made = file("proto2")
    made.message_type[0].options.message_set_wire_format = True
    made.message_type[0].extension_range.add(start=100, end=200)
    extension = made.extension.add(name="e", number=100, type=MESSAGE, type_name="M", label=OPTIONAL, extendee="M")
    assert parsed(made).root.full_name == "p.M"
    extension.label = REPEATED  # type: ignore[assignment]  # the stubs have their own type for enums
    assert "is an optional message" in refusal(made)
