"""The limits of sources, and their hash."""

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
        "/etc/passwd.proto", "../order.proto", "shop/../order.proto", "./order.proto", "shop//order.proto",
        "shop\\order.proto", "order\0.proto", "order.proto\n", "-I.proto", "@order.proto", ".proto", ".hidden.proto",
        "a=b.proto", "a:b.proto", "a b.proto", "örder.proto", "order", "order.proto/x", "\udcff.proto",
        "x" * 250 + ".proto", "",
    ],
)  # fmt: skip
def test_a_name_that_is_no_plain_relative_path_is_refused_and_named(name: str) -> None:
    error = refused({name: EMPTY})
    assert error.rule == "FILE_NAME"
    assert file_of(error.place.path, {name[:255]: ""}) == name[:255]


@pytest.mark.parametrize("name", ["order.proto", "a/b-c/d_e.f+g@1.proto", "_.proto", "9/9.proto"])
def test_a_plain_relative_path_is_a_name(name: str) -> None:
    assert f'"rootFileDescriptorName":"{name}"'.encode() in compile_envelope(ProtobufSources("Order", {name: EMPTY}))


@pytest.mark.parametrize(
    ("files", "rule", "place", "words"),
    [
        ({}, "MISSING_FILE", "$.files", ""),
        ({f"f{n}.proto": "" for n in range(257)}, "SOURCES_TOO_LARGE", "$.files", "257 files are more than 256"),
        ({"a.proto": "/" * 524_288, "b.proto": "/" * 524_288 + "é"}, "SOURCES_TOO_LARGE", "$.files", ""),
        ({"a.proto": "// fine\n// \udce9"}, "NOT_UTF8", "line 2, column 4", ""),
    ],
    ids=["none", "many", "large", "not UTF-8"],
)
def test_invalid_files_are_refused(files: dict[str, str], rule: str, place: str, words: str) -> None:
    error = refused(files)
    assert (error.rule, str(error.place)) == (rule, place)
    assert words in error.message


def test_the_hash_depends_on_every_difference_but_not_on_order() -> None:
    sources = ProtobufSources("Order", {"a.proto": "1", "b.proto": "2"})
    assert sources.source_hash == ProtobufSources(".Order", {"b.proto": "2", "a.proto": "1"}).source_hash
    assert sources.source_hash == "sha256:" + sources.source_hash[7:]
    files = ({"a.proto": "2", "b.proto": "1"}, {"a.proto": "1"}, {"a.proto": "1", "b.proto": "2\udcff"})
    others = [ProtobufSources("Orders", sources.files), *(ProtobufSources("Order", each) for each in files)]
    assert len({each.source_hash for each in (sources, *others)}) == 5
