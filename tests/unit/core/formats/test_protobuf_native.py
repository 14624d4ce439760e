"""PROTOBUF_NATIVE as a schema: the envelope, the root message, the identity, and what may follow it."""

import base64
import json
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from support.schemas import protobuf_schemas
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def file(name: str, package: str, *messages: str, imports: tuple[str, ...] = ()) -> FileDescriptorProto:
    """A file of empty messages; one written `A.B` is nested."""
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
    found = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, content))
    assert isinstance(found, ProtobufNativeSchema)
    return found


def refusal(schema: dict[str, Any] | str | bytes) -> tuple[str, str]:
    with pytest.raises(InvalidSchemaError) as error:
        parsed(schema)
    assert error.value.message
    return error.value.rule, error.value.place.path


def root(package: str, name: str, *messages: str) -> str:
    return parsed(envelope(file("m.proto", package, *messages), root=name)).descriptors.root.full_name


M = file("m.proto", "p", "M")
PLAIN = envelope(M)
CONTENT = PLAIN["fileDescriptorSet"]


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
    ],
)
def test_what_is_no_envelope_is_refused_with_its_place(
    schema: dict[str, Any] | str | bytes, rule: str, path: str
) -> None:
    assert refusal(schema) == (rule, path)


def test_a_name_that_is_not_utf8_is_refused() -> None:
    content = base64.b64encode(base64.b64decode(CONTENT).replace(b"\x01M", b"\x01\xff")).decode()
    assert refusal({**PLAIN, "fileDescriptorSet": content})[0] == "INVALID_DESCRIPTOR_SET"


@pytest.mark.parametrize(
    ("package", "name", "messages", "found"),
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
def test_the_root_message_is_found_as_the_broker_finds_it(
    package: str, name: str, messages: list[str], found: str
) -> None:
    assert root(package, name, *messages) == found


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


def test_the_root_message_stands_in_the_root_file() -> None:
    other = file("n.proto", "p", "N")
    importing = file("m.proto", "p", "M", imports=("n.proto",))
    assert refusal(envelope(importing, other, root="p.N")) == ("UNKNOWN_MESSAGE", "$.rootMessageTypeName")


def test_a_package_with_signs_of_a_regular_expression_is_refused() -> None:
    assert refusal(envelope(file("m.proto", "p*", "M"), root="p*.M"))[0] == "INVALID_DESCRIPTOR"


def test_only_files_that_the_root_file_needs_are_looked_at_and_the_last_of_one_name_counts() -> None:
    broken = file("z.proto", "p", "1M")
    found = parsed(envelope(broken, file("m.proto", "p", "Older"), M)).descriptors
    assert (list(found.files), list(found.messages)) == (["m.proto"], ["p.M"])


def test_an_import_must_be_in_the_set() -> None:
    assert refusal(envelope(file("m.proto", "p", "M", imports=("n.proto",))))[0] == "MISSING_FILE"


def test_of_two_things_that_are_wrong_the_one_is_told_that_the_broker_comes_to_first() -> None:
    broken, itself = file("n.proto", "p", "1M"), file("m.proto", "p", "M", imports=("n.proto", "m.proto"))
    assert refusal(envelope(broken, itself))[0] == "INVALID_DESCRIPTOR"
    other_way = file("m.proto", "p", "M", imports=("m.proto", "n.proto"))
    assert refusal(envelope(broken, other_way))[0] == "CIRCULAR_IMPORT"


def test_too_many_imports_in_a_row_are_refused() -> None:
    row = [file(f"{n}.proto", f"p{n}", "M", imports=(f"{n + 1}.proto",)) for n in range(600)]
    end = file("600.proto", "p", "M")
    assert refusal(envelope(*row, end, root="p0.M", root_file="0.proto"))[0] == "TOO_DEEP"
    found = parsed(envelope(*row[200:], end, root="p200.M", root_file="200.proto"))
    assert found.descriptors.root.full_name == "p200.M"


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
    (found,) = check(OTHER, parsed(PLAIN), strategy)
    assert (found.rule, found.path, found.direction, found.schema_version) == (
        "ROOT_MESSAGE_CHANGED",
        "$.rootMessageTypeName",
        None,
        3,
    )
    assert found.message in (
        "the candidate has the root message p.N, version 3 has p.M",
        "version 3 has the root message p.M, the candidate has p.N",
    )


@pytest.mark.parametrize("strategy", [Strategy.ALWAYS_INCOMPATIBLE, Strategy.UNDEFINED])
def test_strategies_that_pulsars_checker_does_not_know_admit_nothing(strategy: Strategy) -> None:
    assert [each.rule for each in check(OTHER, parsed(PLAIN), strategy)] == [strategy.value]
