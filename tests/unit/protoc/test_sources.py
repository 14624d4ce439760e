"""What may be compiled, and how sources are told apart."""

import pytest

from topicschema.core.errors import InvalidSchemaError
from topicschema.protoc import ProtobufSources, compile_envelope, file_of

EMPTY = 'syntax = "proto3"; message Order {}'


def refused(files: dict[str, str]) -> InvalidSchemaError:
    with pytest.raises(InvalidSchemaError) as caught:
        compile_envelope(ProtobufSources("Order", files))
    return caught.value


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd.proto",
        "../order.proto",
        "shop/../order.proto",
        "./order.proto",
        "shop//order.proto",
        "shop\\order.proto",
        "order\0.proto",
        "order.proto\n",
        "-I.proto",
        "@order.proto",
        ".proto",
        ".hidden.proto",
        "a=b.proto",
        "a:b.proto",
        "a b.proto",
        "örder.proto",
        "order",
        "order.proto/x",
        "\udcff.proto",
        "x" * 250 + ".proto",
        "",
    ],
)
def test_a_name_that_is_no_plain_relative_path_is_refused_and_named(name: str) -> None:
    error = refused({name: EMPTY})
    assert error.rule == "FILE_NAME"
    assert file_of(error.place.path, {name[:255]: ""}) == name[:255]


@pytest.mark.parametrize("name", ["order.proto", "a/b-c/d_e.f+g@1.proto", "_.proto", "9/9.proto"])
def test_a_plain_relative_path_is_a_name(name: str) -> None:
    assert f'"rootFileDescriptorName":"{name}"'.encode() in compile_envelope(ProtobufSources("Order", {name: EMPTY}))


def test_there_must_be_a_file() -> None:
    assert refused({}).rule == "MISSING_FILE"


def test_too_many_files_are_refused() -> None:
    error = refused({f"f{number}.proto": "" for number in range(257)})
    assert (error.rule, error.place.path) == ("SOURCES_TOO_LARGE", "$.files")
    assert "257 files are more than 256" in error.message
    assert "the Java client's envelope" in error.message


def test_files_that_are_too_large_together_are_refused() -> None:
    half = "/" * (512 * 1024)
    assert refused({"a.proto": half, "b.proto": half + "é"}).rule == "SOURCES_TOO_LARGE"


def test_bytes_that_are_not_utf8_are_refused_with_their_place() -> None:
    error = refused({"a.proto": "// fine\n// \udce9"})
    assert (error.rule, str(error.place), error.place.path) == (
        "NOT_UTF8",
        "line 2, column 4",
        '$.files["a.proto"]',
    )


def test_the_hash_tells_every_difference_and_no_order() -> None:
    sources = ProtobufSources("Order", {"a.proto": "1", "b.proto": "2"})
    assert sources.source_hash == ProtobufSources(".Order", {"b.proto": "2", "a.proto": "1"}).source_hash
    assert sources.source_hash == "sha256:" + sources.source_hash[7:]
    others = [
        ProtobufSources("Orders", sources.files),
        ProtobufSources("Order", {"a.proto": "2", "b.proto": "1"}),
        ProtobufSources("Order", {"a.proto": "1"}),
        ProtobufSources("Order", {"a.proto": "1", "b.proto": "2\udcff"}),
    ]
    assert len({each.source_hash for each in (sources, *others)}) == 5
