"""PROTOBUF_NATIVE as a schema: the envelope, the root message, the descriptors and their limits."""

import base64
import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from support.schemas import protobuf_schemas
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import (
    Descriptors,
    Kind,
    Label,
    ProtobufNativeSchema,
    Range,
    defaults,
    files,
    linking,
    symbols,
)
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def file(name: str, package: str, *messages: str, imports: tuple[str, ...] = ()) -> FileDescriptorProto:
    """Return a file of empty messages; one written `A.B` is nested."""
    made = FileDescriptorProto(name=name, package=package, dependency=imports)
    for path in messages:
        outer, *nested = path.split(".")
        holder = next((each for each in made.message_type if each.name == outer), None)
        holder = made.message_type.add(name=outer) if holder is None else holder
        for each in nested:
            holder = holder.nested_type.add(name=each)
    return made


def envelope(*files: FileDescriptorProto, root: str = "p.M", root_file: str = "m.proto") -> dict[str, Any]:
    return {**protobuf_schemas.envelope(FileDescriptorSet(file=files), root, root_file)}


def parsed(schema: dict[str, Any] | str | bytes) -> ProtobufNativeSchema:
    text = json.dumps(schema) if isinstance(schema, dict) else schema
    content = text.encode() if isinstance(text, str) else text
    schema = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, content))
    assert isinstance(schema, ProtobufNativeSchema)
    return schema


def refusal(schema: dict[str, Any] | str | bytes) -> tuple[str, str]:
    with pytest.raises(InvalidSchemaError) as error:
        parsed(schema)
    assert error.value.message
    return error.value.rule, error.value.place.path


M = file("m.proto", "p", "M")
PLAIN = envelope(M)
CONTENT = PLAIN["fileDescriptorSet"]
NAME_NOT_UTF8 = base64.b64encode(base64.b64decode(CONTENT).replace(b"\x01M", b"\x01\xff")).decode()
IMPORTING = file("m.proto", "p", "M", imports=("n.proto",))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PLAIN),
        json.dumps(PLAIN, indent=2),
        "\ufeff" + json.dumps(PLAIN),
        json.dumps({"other": {"a": [1]}, **PLAIN}),
        json.dumps(PLAIN) + " // what follows is not read",
        json.dumps({**PLAIN, "fileDescriptorSet": f" {CONTENT[:4]}\n{CONTENT[4:]} "}),
        json.dumps({**PLAIN, "other": 1}).replace('"other": 1', '"other": ' + "[" * 900 + "]" * 900),
    ],
)
def test_what_jackson_takes_for_an_envelope_is_one(text: str) -> None:
    assert parsed(text).descriptors.root.full_name == "p.M"


def test_base64_may_have_the_urls_alphabet() -> None:
    odd = file("m.proto", "p", "M")
    odd.options.java_package = "\u07ff\u07fe?>\u07ff~~"
    made = envelope(odd)
    plain = made["fileDescriptorSet"]
    swapped = plain.translate(str.maketrans("+/", "-_"))
    assert swapped != plain
    assert parsed({**made, "fileDescriptorSet": swapped}).descriptors == parsed(made).descriptors


@pytest.mark.parametrize(
    ("schema", "rule", "path"),
    [
        ("", "SYNTAX", "$"),
        ("{,", "SYNTAX", "$"),
        ("// no comments\n" + json.dumps(PLAIN), "SYNTAX", "$"),
        (json.dumps(PLAIN)[:-1] + ', "x": NaN}', "SYNTAX", "$.x"),
        (json.dumps(PLAIN)[:-1] + ', "x": ' + "1" * 1001 + "}", "SYNTAX", "$.x"),
        (json.dumps(PLAIN).encode("utf-16"), "NOT_UTF8", "$"),
        (json.dumps(PLAIN)[:-1] + ', "x": ' + "[" * 5000 + "]" * 5000 + "}", "TOO_DEEP", "$"),
        ("[]", "NOT_AN_ENVELOPE", "$"),
        ("null", "NOT_AN_ENVELOPE", "$"),
        ({**PLAIN, "fileDescriptorSet": None}, "NOT_AN_ENVELOPE", "$"),
        ({"fileDescriptorSet": CONTENT, "rootMessageTypeName": "p.M"}, "NOT_AN_ENVELOPE", "$"),
        ({**PLAIN, "rootMessageTypeName": 5}, "NOT_AN_ENVELOPE", "$.rootMessageTypeName"),
        ({**PLAIN, "fileDescriptorSet": CONTENT + "="}, "NOT_AN_ENVELOPE", "$.fileDescriptorSet"),
        ({**PLAIN, "fileDescriptorSet": CONTENT[:3] + " " + CONTENT[3:]}, "NOT_AN_ENVELOPE", "$.fileDescriptorSet"),
        ({**PLAIN, "fileDescriptorSet": "*" + CONTENT[1:]}, "NOT_AN_ENVELOPE", "$.fileDescriptorSet"),
        ({**PLAIN, "fileDescriptorSet": CONTENT[:-4]}, "INVALID_DESCRIPTOR_SET", "$.fileDescriptorSet"),
        ({**PLAIN, "fileDescriptorSet": ""}, "MISSING_FILE", "$.rootFileDescriptorName"),
        ({**PLAIN, "rootFileDescriptorName": "n.proto"}, "MISSING_FILE", "$.rootFileDescriptorName"),
        ({**PLAIN, "fileDescriptorSet": NAME_NOT_UTF8}, "INVALID_DESCRIPTOR_SET", "$.fileDescriptorSet"),
        (envelope(IMPORTING), "MISSING_FILE", "$.fileDescriptorSet"),
        (envelope(IMPORTING, file("n.proto", "p", "N"), root="p.N"), "UNKNOWN_MESSAGE", "$.rootMessageTypeName"),
        (envelope(file("m.proto", "p*", "M"), root="p*.M"), "INVALID_DESCRIPTOR", "$.fileDescriptorSet"),
    ],
)
def test_what_is_no_envelope_is_refused_with_its_place(
    schema: dict[str, Any] | str | bytes, rule: str, path: str
) -> None:
    assert refusal(schema) == (rule, path)


@pytest.mark.parametrize(
    ("package", "name", "messages", "expected"),
    [
        ("p", "p.M", ["M"], "p.M"),
        ("p", "M", ["M"], "p.M"),
        ("", "M", ["M"], "M"),
        ("p", "p.M.", ["M"], "p.M"),
        ("p.q", "p.q.M.N.O", ["M.N.O"], "p.q.M.N.O"),
        ("p.q", "pxq.M", ["M"], "p.q.M"),
        ("a", "Banana", ["Bnana"], "a.Bnana"),
        ("", "Outer.Inner", ["OuterInner"], "OuterInner"),
        ("p-q", "p-q.M", ["M"], "p-q.M"),
    ],
)
def test_the_root_message_is_the_brokers(package: str, name: str, messages: list[str], expected: str) -> None:
    schema = parsed(envelope(file("m.proto", package, *messages), root=name))
    assert schema.descriptors.root.full_name == expected


@pytest.mark.parametrize(
    ("package", "name", "messages"),
    [
        ("p", ".p.M", ["M"]),
        ("p", "p.N", ["M"]),
        ("p", "p.M.N", ["M"]),
        ("p", "M.N", ["M.N"]),
        ("", "M.N", ["M.N"]),
        ("a", "Banana", ["Banana"]),
        ("p", "", ["M"]),
        ("p", "..", ["M"]),
        ("p", "p.M..N", ["M.N"]),
    ],
)
def test_a_root_message_that_the_broker_does_not_find_is_refused(package: str, name: str, messages: list[str]) -> None:
    made = envelope(file("m.proto", package, *messages), root=name)
    assert refusal(made) == ("UNKNOWN_MESSAGE", "$.rootMessageTypeName")


def test_only_files_that_the_root_file_needs_are_read_and_the_last_of_one_name_counts() -> None:
    broken = file("z.proto", "p", "1M")
    descriptors = parsed(envelope(broken, file("m.proto", "p", "Older"), M)).descriptors
    assert (list(descriptors.files), list(descriptors.messages)) == (["m.proto"], ["p.M"])


def test_of_two_errors_the_first_one_of_the_broker_is_reported() -> None:
    broken, itself = file("n.proto", "p", "1M"), file("m.proto", "p", "M", imports=("n.proto", "m.proto"))
    assert refusal(envelope(broken, itself))[0] == "INVALID_DESCRIPTOR"
    other_way = file("m.proto", "p", "M", imports=("m.proto", "n.proto"))
    assert refusal(envelope(broken, other_way))[0] == "CIRCULAR_IMPORT"


def test_too_many_imports_in_a_row_are_refused() -> None:
    row = [file(f"{n}.proto", f"p{n}", "M", imports=(f"{n + 1}.proto",)) for n in range(600)]
    end = file("600.proto", "p", "M")
    assert refusal(envelope(*row, end, root="p0.M", root_file="0.proto"))[0] == "TOO_DEEP"
    schema = parsed(envelope(*row[200:], end, root="p200.M", root_file="200.proto"))
    assert schema.descriptors.root.full_name == "p200.M"


def test_only_the_bytes_are_the_identity() -> None:
    spaced = parsed(json.dumps(PLAIN, indent=1))
    assert spaced.fingerprint != parsed(PLAIN).fingerprint
    assert spaced.descriptors == parsed(PLAIN).descriptors
    info = SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(PLAIN).encode(), {"owner": "a"})
    assert formats.parse(info).fingerprint == parsed(PLAIN).fingerprint


def check(candidate: Schema, earlier: Schema, strategy: Strategy) -> tuple[Incompatibility, ...]:
    return compatibility.check(candidate, [Predecessor(3, earlier.info.type, earlier)], strategy)


OTHER = parsed(envelope(file("m.proto", "p", "N"), root="p.N"))


@pytest.mark.parametrize("strategy", [each for each in Strategy if each.directions])
def test_only_the_root_messages_full_name_is_compared(strategy: Strategy) -> None:
    retyped = file("m.proto", "p", "M")
    retyped.message_type[0].field.add(name="a", number=1, type=9, label=1)
    assert check(parsed(envelope(retyped)), parsed(PLAIN), strategy) == ()
    (finding,) = check(OTHER, parsed(PLAIN), strategy)
    assert (finding.rule, finding.path) == ("ROOT_MESSAGE_CHANGED", "$.rootMessageTypeName")
    assert (finding.direction, finding.schema_version) == (None, 3)
    assert finding.message in (
        "the candidate has the root message p.N, version 3 has p.M",
        "version 3 has the root message p.M, the candidate has p.N",
    )


def test_strategies_that_pulsars_checker_does_not_know_admit_nothing() -> None:
    for strategy in (Strategy.ALWAYS_INCOMPATIBLE, Strategy.UNDEFINED):
        assert [each.rule for each in check(OTHER, parsed(PLAIN), strategy)] == [strategy.value]


INT32, STRING, BYTES, MESSAGE, ENUM = 5, 9, 12, 11, 14
OPTIONAL, REPEATED = 1, 3


def proto_file(syntax: str = "proto3") -> FileDescriptorProto:
    made = FileDescriptorProto(name="m.proto", package="p", syntax=syntax)
    made.message_type.add(name="M")
    return made


def descriptors_of(*files: FileDescriptorProto) -> Descriptors:
    """Return the descriptors of all files. The last is the root, and its first message the root message."""
    root = f"{files[-1].package}.{files[-1].message_type[0].name}"
    return parsed(envelope(*files, root=root, root_file=files[-1].name)).descriptors


def refused_files(*files: FileDescriptorProto) -> str:
    """Return the error of the files; empty if they are accepted."""
    try:
        descriptors_of(*files)
    except InvalidSchemaError as error:
        assert error.place.path == "$.fileDescriptorSet"  # noqa: PT017
        return f"{error.rule}: {error.message}"
    return ""


def field(message: DescriptorProto, kind: int = INT32, **more: object) -> FieldDescriptorProto:
    number = len(message.field) + 1
    members = {"name": f"f{number}", "number": number, "label": OPTIONAL, "type": kind, **more}
    return message.field.add(**members)  # type: ignore[arg-type]


def test_the_model_has_the_content_of_the_descriptors() -> None:
    made = proto_file()
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
    descriptors = descriptors_of(made)
    root = descriptors.root
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
    assert descriptors.messages["p.M.MapEntry"].is_map_entry
    assert dict(descriptors.enums["p.Colour"].values) == {"RED": 7}
    assert descriptors.files["m.proto"].syntax == "proto3"


def test_fields_come_in_the_order_of_their_numbers() -> None:
    made = proto_file()
    field(made.message_type[0], number=9)
    field(made.message_type[0], number=3)
    assert list(descriptors_of(made).root.fields) == [3, 9]


@pytest.mark.parametrize(("syntax", "expected"), [("", "proto2"), ("proto3", "proto3"), ("editions", "edition 1000")])
def test_a_file_has_its_syntax(syntax: str, expected: str) -> None:
    made = proto_file(syntax)
    if syntax == "editions":
        made.edition = 1000  # type: ignore[assignment]  # the stubs have their own type for enums
    assert descriptors_of(made).files["m.proto"].syntax == expected


def test_a_public_import_shows_what_it_imports_and_another_does_not() -> None:
    deep = FileDescriptorProto(name="deep.proto", package="q")
    deep.message_type.add(name="D")
    middle = FileDescriptorProto(name="middle.proto", package="r", dependency=["deep.proto"])
    root = proto_file()
    root.dependency.append("middle.proto")
    field(root.message_type[0], MESSAGE, type_name=".q.D")
    assert "'.q.D' is not defined" in refused_files(deep, middle, root)
    middle.public_dependency.append(0)
    assert descriptors_of(deep, middle, root).root.fields[1].type_name == "q.D"
    middle.public_dependency[0] = 1
    assert "public_dependency 1" in refused_files(deep, middle, root)


def test_a_relative_name_means_the_innermost_thing_of_that_name() -> None:
    made = proto_file()
    made.message_type.add(name="N")
    made.message_type[0].nested_type.add(name="N")
    field(made.message_type[0], MESSAGE, type_name="N")
    field(made.message_type[0], MESSAGE, type_name="M.N")
    field(made.message_type[0], MESSAGE, type_name=".p.N")
    assert [each.type_name for each in descriptors_of(made).root.fields.values()] == ["p.M.N", "p.M.N", "p.N"]
    field(made.message_type[0], MESSAGE, type_name="N.Missing")
    assert "'N.Missing' is not defined" in refused_files(made)


def test_a_field_without_a_type_has_that_of_its_type_name() -> None:
    made = proto_file()
    made.enum_type.add(name="E").value.add(name="V", number=0)
    for name in ("M", "E"):
        field(made.message_type[0], type_name=name).ClearField("type")
    assert [each.kind for each in descriptors_of(made).root.fields.values()] == [Kind.MESSAGE, Kind.ENUM]


def test_a_name_that_two_imports_define_may_not_be_used() -> None:
    imports = [FileDescriptorProto(name=f"{n}.proto", package="q") for n in range(2)]
    for each in imports:
        each.message_type.add(name="D")
    root = proto_file()
    root.dependency.extend(["0.proto", "1.proto"])
    assert descriptors_of(*imports, root).messages["q.D"].file == "0.proto"
    field(root.message_type[0], MESSAGE, type_name=".q.D")
    assert "more than one imported file" in refused_files(*imports, root)


SPOILT: dict[str, Callable[[FileDescriptorProto, DescriptorProto], object]] = {
    "is no name": lambda _, message: field(message, name="1a"),
    "'é' is no name": lambda proto_file, _: proto_file.message_type.add(name="é"),
    "is that of a message already": lambda proto_file, _: proto_file.message_type.add(name="M"),
    "has the number 1 already": lambda _, message: (field(message), field(message, number=1)),
    "no field's number": lambda _, message: field(message, number=0),
    "no oneof 0": lambda _, message: field(message, oneof_index=0),
    "extends nothing": lambda _, message: field(message, extendee=".p.M"),
    "type is missing": lambda _, message: field(message, MESSAGE),
    "is a message, the field is of type INT32": lambda _, message: field(message, type_name="M"),
    "the field is of type ENUM": lambda _, message: field(message, ENUM, type_name="M"),
    "at least one value": lambda proto_file, _: proto_file.enum_type.add(name="E"),
    "can be packed": lambda _, message: setattr(field(message).options, "packed", True),
    "has no default": lambda _, message: field(message, label=REPEATED, default_value="1"),
    "does not fit the type INT32": lambda _, message: field(message, default_value="x"),
    "has extensions only": lambda _, message: (
        setattr(message.options, "message_set_wire_format", True),
        field(message),
    ),
    "says what it extends": lambda proto_file, _: proto_file.extension.add(
        name="e", number=100, type=INT32, label=OPTIONAL
    ),
    "does not declare 100": lambda proto_file, _: proto_file.extension.add(
        name="e", number=100, type=INT32, label=OPTIONAL, extendee="M"
    ),
    "stands in no oneof": lambda proto_file, _: proto_file.extension.add(
        name="e", number=100, type=INT32, label=OPTIONAL, extendee="M", oneof_index=0
    ),
    "p.S.call: the type 'X' is not defined": lambda proto_file, _: proto_file.service.add(name="S").method.add(
        name="call", input_type="X", output_type="M"
    ),
    "come behind all others": lambda _, message: (
        message.oneof_decl.add(name="a"),
        message.oneof_decl.add(name="b"),
        field(message, oneof_index=0, proto3_optional=True),
    ),
    "the package's name is longer than is read": lambda proto_file, _: setattr(
        proto_file, "package", "a" * (symbols.MAX_NAME + 1)
    ),
}


@pytest.mark.parametrize("words", SPOILT)
def test_what_protobufs_java_library_does_not_build_is_refused_with_the_name(words: str) -> None:
    made = proto_file()
    SPOILT[words](made, made.message_type[0])
    message = refused_files(made)
    assert message.startswith("INVALID_DESCRIPTOR: m.proto")
    assert words in message
    assert len(message) < 512


def test_an_enums_default_is_one_of_its_values() -> None:
    made = proto_file("proto2")
    made.enum_type.add(name="E").value.add(name="V", number=0)
    default = field(made.message_type[0], ENUM, type_name="E", default_value="V")
    assert descriptors_of(made).root.fields[1].default == "V"
    default.default_value = "W"
    assert "does not fit the type ENUM" in refused_files(made)


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        (Kind.INT32, ["-017", "+5"], ["08", "1.0", "", "0x", "1" * 9999]),
        (Kind.UINT32, ["0"], ["-0"]),
        (Kind.DOUBLE, ["1", "-1.5e10", "inf", "-inf", "nan", ".5", "5.", "1f", " 1 "], ["", "-nan", "1e", "e5", "x"]),
        (Kind.BYTES, ["", "a\\n\\377\\x4\\\\\\u00e9\\U0010FFFF", "é"], ["\\", "\\9", "\\x", "\\ud800", "\\U00110000"]),
        (Kind.BYTES, ["\\0", "\\77", "\\777", "\\0000", "\\xA", "\\xAf0", "\\a\\?\\'\\\"", "\\U0000E000"], []),
        (Kind.BYTES, [], ["\\8", "\\xg", "\\u123", "\\uDBFF", "\\U0000D800", "\\U00200000", "a\\"]),
        (Kind.BOOL, ["true", "anything"], []),
        (Kind.STRING, ["\\"], []),
    ],
)
def test_a_default_fits_its_kind(kind: Kind, fits: list[str], does_not: list[str]) -> None:
    assert [text for text in fits if not defaults.is_default(kind, text)] == []
    assert [text for text in does_not if defaults.is_default(kind, text)] == []


@pytest.mark.parametrize(("number", "fits"), [(99, False), (100, True), (199, True), (200, False), (300, True)])
def test_an_extension_has_a_number_that_its_message_declares(number: int, *, fits: bool) -> None:
    made = proto_file("proto2")
    made.message_type[0].extension_range.add(start=300, end=301)
    made.message_type[0].extension_range.add(start=100, end=200)
    made.extension.add(name="e", number=number, type=INT32, label=OPTIONAL, extendee=".p.M")
    if fits:
        assert descriptors_of(made).root.extension_numbers == (Range(300, 300), Range(100, 199))
    else:
        assert f"p.M does not declare {number}" in refused_files(made)


def test_a_message_set_takes_optional_messages_only() -> None:
    made = proto_file("proto2")
    made.message_type[0].options.message_set_wire_format = True
    made.message_type[0].extension_range.add(start=100, end=200)
    extension = made.extension.add(name="e", number=100, type=MESSAGE, type_name="M", label=OPTIONAL, extendee="M")
    assert descriptors_of(made).root.full_name == "p.M"
    extension.label = REPEATED  # type: ignore[assignment]  # the stubs have their own type for enums
    assert "is an optional message" in refused_files(made)


@pytest.mark.parametrize(
    ("edition", "is_supported"), [(0, False), (900, False), (1000, True), (1001, True), (1002, False), (9999, True)]
)
def test_pulsar_5_takes_only_the_editions_that_its_library_supports(*, edition: int, is_supported: bool) -> None:
    made = FileDescriptorProto(name="m.proto", package="p", syntax="editions", edition=edition)  # type: ignore[arg-type]
    made.message_type.add(name="M")
    info = SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope(made)).encode())
    assert formats.parse(info, PulsarVersion.V4_2)
    if is_supported:
        assert formats.parse(info, PulsarVersion.V5_0)
        return
    with pytest.raises(InvalidSchemaError, match=f"Pulsar 5.0 does not support its edition, {edition}") as error:
        formats.parse(info, PulsarVersion.V5_0)
    assert error.value.rule == "INVALID_DESCRIPTOR"


SIGNED: Final = {32: (Kind.INT32, Kind.SINT32, Kind.SFIXED32), 64: (Kind.INT64, Kind.SINT64, Kind.SFIXED64)}
UNSIGNED: Final = {32: (Kind.UINT32, Kind.FIXED32), 64: (Kind.UINT64, Kind.FIXED64)}


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
    assert (refused_files(file("m.proto", package, "M")) == "") == is_read


def test_a_full_name_has_a_bound() -> None:
    made = file("m.proto", "p", "M")
    made.message_type.add(name="N" * (symbols.MAX_NAME - len("p.")))
    assert refused_files(made) == ""
    made.message_type.add(name="O" * (symbols.MAX_NAME - len("p.") + 1))
    assert f"more than {symbols.MAX_NAME} characters" in refused_files(made)


def test_a_set_of_files_has_a_bound_of_definitions() -> None:
    imported, root = file("a.proto", "q", "M"), file("m.proto", "p", "M")
    root.dependency.append("a.proto")
    for number in range(files.MAX_DEFINITIONS - 4):  # two files with a message each
        imported.message_type[0].reserved_range.add(start=number, end=number + 1)
    assert refused_files(imported, root) == ""
    imported.message_type.add(name="N")
    assert refused_files(imported, root) == (
        "INVALID_DESCRIPTOR_SET: the files define more than 50,000 messages, fields, values and ranges"
    )


def test_files_may_see_each_other_so_often_and_no_more() -> None:
    count = round((2 * linking.MAX_VISIBLE) ** 0.5)
    made = [file(f"{number}.proto", f"p{number}", "M") for number in range(count)]
    for number, each in enumerate(made):
        each.dependency.extend(f"{earlier}.proto" for earlier in range(number))
    assert sum(range(count)) < linking.MAX_VISIBLE < sum(range(count + 1))
    left = linking.MAX_VISIBLE - sum(range(count))
    last = file("last.proto", "o", "M")
    last.dependency.extend(f"{earlier}.proto" for earlier in range(count - left, count))
    assert refused_files(*made, last) == ""
    last.dependency.append("0.proto")
    assert refused_files(*made, last).startswith("INVALID_DESCRIPTOR: the files see more than 250,000 others")


@pytest.mark.parametrize("bits", [32, 64])
def test_an_integers_default_has_the_range_of_its_kind_and_no_more(bits: int) -> None:
    for kind in SIGNED[bits]:
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        assert [defaults.is_default(kind, str(each)) for each in (low - 1, low, high, high + 1)] == [0, 1, 1, 0]
        assert [defaults.is_default(kind, f"{each:#x}") for each in (low - 1, low, high, high + 1)] == [0, 1, 1, 0]
    for kind in UNSIGNED[bits]:
        assert [defaults.is_default(kind, str(each)) for each in (-1, 0, 2**bits - 1, 2**bits)] == [0, 1, 1, 0]
        assert [defaults.is_default(kind, f"0{each:o}") for each in (0, 2**bits - 1, 2**bits)] == [1, 1, 0]


@pytest.mark.parametrize("package", ["p.M", "p.M.q", "p.M.q.r"])
def test_a_message_may_have_the_name_of_no_package_that_is_imported_nor_of_a_part_of_it(package: str) -> None:
    imported, root = file("n.proto", package, "M"), file("m.proto", "p", "M")
    root.dependency.append("n.proto")
    assert "the name is that of a package already" in refused_files(imported, root)
