"""Sources become the envelope that the Java client makes; what protoc complains of has a rule and a place."""

import base64
import json
from random import Random

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from support.schemas import proto_sources
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.protoc import ProtobufSources, compile_envelope, compile_first

ORDER = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "shop/money.proto";
message Order {
  string order_id = 1;
  string file_url = 2 [json_name = "url"];
  string same_name = 3 [json_name = "sameName"];
  google.protobuf.Timestamp at = 4;
  Money price = 5;
  map<string, Line> lines = 6;
  message Line { int32 count = 1; }
}
"""
MONEY = 'syntax = "proto3"; package shop; message Money { int64 units = 1; }'
FILES = {"shop/order.proto": ORDER, "shop/money.proto": MONEY}


def files_in(envelope: bytes) -> FileDescriptorSet:
    return FileDescriptorSet.FromString(base64.b64decode(json.loads(envelope)["fileDescriptorSet"]))


def compiled(text: str, message: str = "A") -> ProtobufNativeSchema:
    envelope = compile_envelope(ProtobufSources(message, {"a.proto": text}))
    schema = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope))
    assert isinstance(schema, ProtobufNativeSchema)
    return schema


def refused(files: dict[str, str], message: str = "A") -> InvalidSchemaError:
    with pytest.raises(InvalidSchemaError) as caught:
        compile_envelope(ProtobufSources(message, files))
    return caught.value


def test_a_broker_reads_the_envelope() -> None:
    envelope = compile_envelope(ProtobufSources("shop.Order", FILES))
    schema = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope))
    assert isinstance(schema, ProtobufNativeSchema)
    assert schema.descriptors.root.full_name == "shop.Order"
    assert set(schema.descriptors.files) == {*FILES, "google/protobuf/timestamp.proto"}
    assert compile_envelope(ProtobufSources(".shop.Order", dict(reversed(FILES.items())))) == envelope
    assert compile_first(FILES) == ("shop.Order", envelope)


@pytest.mark.parametrize(
    ("message", "files"),
    [
        ("shop.Money", ["shop/money.proto"]),
        ("shop.Order.Line", ["google/protobuf/timestamp.proto", "shop/money.proto", "shop/order.proto"]),
    ],
)
def test_an_envelope_has_its_root_and_the_files_that_it_needs(message: str, files: list[str]) -> None:
    envelope = compile_envelope(ProtobufSources(message, FILES))
    assert sorted(file.name for file in files_in(envelope).file) == files
    assert json.loads(envelope)["rootFileDescriptorName"] == files[-1]
    assert json.loads(envelope)["rootMessageTypeName"] == message


def test_json_names_of_the_source_are_compiled_and_comments_are_not() -> None:
    files = files_in(compile_envelope(ProtobufSources("shop.Order", FILES))).file
    order = next(file for file in files if "order" in file.name)
    fields = {field.name: field.json_name for field in order.message_type[0].field}
    expected = {"file_url": "url", "same_name": "sameName"}
    assert {name: json_name for name, json_name in fields.items() if json_name} == expected
    assert not order.HasField("source_code_info")


def test_json_names_of_extensions_groups_and_map_entries_are_removed() -> None:
    text = """syntax = "proto2";
message A { extensions 100 to 200; map<string, int32> m = 1; optional group G = 2 { optional int32 x_y = 1; }
  extend A { optional int32 in_a = 101; } }
extend A { optional int32 at_top = 102; }"""
    assert b"json_name" not in str(files_in(compile_envelope(ProtobufSources("A", {"a.proto": text})))).encode()


def test_two_messages_in_the_first_file_need_a_named_root() -> None:
    with pytest.raises(InvalidSchemaError, match="no root message is named; name one of A, B") as caught:
        compile_first({"a.proto": 'syntax = "proto3"; message A {} message B {}'})
    assert (caught.value.rule, caught.value.place.path) == ("UNKNOWN_MESSAGE", "$.message")


@pytest.mark.parametrize("message", ["shop.Moneys", "shop.Order.LinesEntry", "google.protobuf.Timestamp"])
def test_an_unknown_root_is_refused_with_the_most_similar_names_first(message: str) -> None:
    error = refused(FILES, message)
    assert error.rule == "UNKNOWN_MESSAGE"
    assert message != "shop.Moneys" or "name one of shop.Money, shop.Order" in error.message


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("message A {", "line 1, column 12", "Reached end of input"),
        ('syntax = "proto3";\n\t/* é */ message A { B b = 1; }', "line 2, column 22", '"B" is not defined'),
        ('syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }', "line 1, column 55", "already been used"),
        ('syntax = "proto3"; message A { reserved 1; int32 a = 1; }', "line 1, column 41", "reserved"),
        ('syntax = "proto3"; message A { \0 }', "line 1, column 32", "control characters"),
        ("}{", "line 1, column 1", "Expected top-level statement"),
    ],
)
def test_an_error_of_protoc_is_reported_with_file_line_and_column(text: str, place: str, message: str) -> None:
    error = refused({"a.proto": text})
    assert (error.rule, str(error.place), error.place.path) == ("INVALID_PROTO", place, '$.files["a.proto"]')
    assert error.message.startswith("a.proto: ")
    assert message in error.message


def test_a_wrong_import_is_reported_with_its_place() -> None:
    error = refused({"a.proto": 'syntax = "proto3";\nimport "b.proto";\nmessage A { B b = 1; }'})
    assert (error.rule, str(error.place)) == ("MISSING_FILE", "line 2, column 1")
    assert error.message.startswith('"b.proto" is imported, but is not among the files')
    back = 'syntax = "proto3"; import "a.proto";'
    circle = {"a.proto": 'syntax = "proto3"; import "b.proto"; message A {}', "b.proto": back}
    assert refused(circle).rule == "CIRCULAR_IMPORT"


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd", "../a.proto", "/proc/self/fd/0", "/proc/self/fd/100", "a.proto/../a.proto", "b.proto\\n",
        "google/../a.proto", "google/api/http.proto", "./a.proto",
    ],
)  # fmt: skip
def test_nothing_else_on_disk_can_be_imported(name: str) -> None:
    error = refused({"a.proto": f'syntax = "proto3"; import "{name}"; message A {{}}'})
    assert error.rule in {"MISSING_FILE", "INVALID_PROTO"}


def test_a_file_of_the_sources_takes_precedence_over_protocs_own() -> None:
    own = 'syntax = "proto3"; package google.protobuf; message Timestamp { string text = 1; }'
    name = "google/protobuf/timestamp.proto"
    text = f'syntax = "proto3"; import "{name}"; message A {{ google.protobuf.Timestamp at = 1; }}'
    files = {"a.proto": text, name: own}
    assert b"seconds" not in files_in(compile_envelope(ProtobufSources("A", files))).SerializeToString()


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ("message A { required int32 a = 1; optional group G = 2 {} extensions 100 to 199; }", "proto2"),
        ('syntax = "proto3"; message A { optional int32 a = 1; oneof o { int32 b = 2; string c = 3; } }', "proto3"),
        ('edition = "2023"; message A { int32 a = 1 [features.field_presence = LEGACY_REQUIRED]; }', "edition 1000"),
        ('syntax = "proto3"; import "google/protobuf/any.proto"; message A {}', "proto3"),  # an unused import
        ('syntax = "proto3"; message A { reserved 2, 5 to 9; reserved "x"; enum E { Z = 0; reserved 1; } }', "proto3"),
    ],
)
def test_every_notation_is_compiled(text: str, syntax: str) -> None:
    assert compiled(text).descriptors.files["a.proto"].syntax == syntax


def test_options_lead_to_the_descriptor_proto_that_the_java_client_has() -> None:
    # The fingerprint is that of the envelope which Pulsar's Java client makes of the generated class.
    text = """syntax = "proto3"; package x; import "google/protobuf/descriptor.proto";
    extend google.protobuf.FieldOptions { string owner = 50000; } message R { int64 id = 1 [(owner) = "a"]; }"""
    envelope = compile_envelope(ProtobufSources("x.R", {"o.proto": text}))
    schema = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope))
    assert schema.fingerprint == "sha256:508a184a22e0a4e6890f1a82d3f8c23f250d4651fbc69028013d958cb7b06d1a"
    of_5_0 = compile_envelope(ProtobufSources("x.R", {"o.proto": text}), pulsar_version=PulsarVersion.V5_0)
    assert [each.name for each in files_in(of_5_0).file] == [each.name for each in files_in(envelope).file]
    schema = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, of_5_0))
    assert schema.fingerprint == "sha256:5b4af0dd28ec86c8348d6276369617010d0f04398f406de134a38bcbfd202181"


def test_features_of_languages_are_those_of_this_protoc() -> None:
    """They need a newer `descriptor.proto` than the Java client has; so do its classes need a newer library."""
    text = """edition = "2023"; import "google/protobuf/java_features.proto";
    option features.(pb.java).utf8_validation = VERIFY; message A { string a = 1; }"""
    assert compile_envelope(ProtobufSources("A", {"a.proto": text}))


EVERYTHING = proto_sources.EVERYTHING | proto_sources.EDITIONS
PIECES = (
    *('"', "{", "}", "[", ";", "=", "\0", "é", "\udcff", "\U0001f600", "/*", "//", "\\", "0x7fffffff", "-1", "9" * 30),
    *("option ", "extend ", "import ", "reserved ", "map<", "group ", "oneof ", "features.", "a." * 200, "_" * 300),
)


def damaged(random: Random) -> dict[str, str]:
    name = random.choice(list(EVERYTHING))
    text = EVERYTHING[name]
    start = random.randrange(len(text))
    end = start + random.randrange(20)
    put = random.choice(["", text[start:end] * random.randrange(30), random.choice(PIECES)])
    return EVERYTHING | {name: text[:start] + put + text[end:]}


@pytest.mark.parametrize("seed", range(40))
def test_damaged_sources_are_compiled_or_refused_with_their_place(seed: int) -> None:
    sources = ProtobufSources("shop.every_thing.Everything", damaged(Random(seed)))  # noqa: S311  # a test's variety
    try:
        envelope = compile_envelope(sources)
    except InvalidSchemaError as error:
        assert error.rule in {"INVALID_PROTO", "MISSING_FILE", "NOT_UTF8", "UNKNOWN_MESSAGE"}  # noqa: PT017
        assert error.place.path.startswith("$.files[") or error.rule == "UNKNOWN_MESSAGE"  # noqa: PT017
    else:
        assert formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope))
