"""Eight releases of googleapis-common-protos, 2020 to 2026: a real history of real protobuf descriptors.

They are fetched by pip into the cache folder when first needed (2 MB) and never committed. The descriptors are those
that protoc put into the Python modules, as literals; nothing of a wheel is run.
"""

import ast
import functools
import importlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from demo import wheels
from demo.errors import DemoError
from demo.wheels import Release
from support.schemas import protobuf_schemas
from testbed.progress import Progress

RELEASES = tuple(
    Release("googleapis-common-protos", number, sha256)
    for number, sha256 in (
        ("1.52.0", "c8961760f5aad9a711d37b675be103e0cc4e9a39327e0d6d857872f698403e24"),
        ("1.53.0", "f6d561ab8fb16b30020b940e2dd01cd80082f4762fa9f3ee670f4419b4b8dbd0"),
        ("1.56.4", "8eb2cbc91b69feaf23e32452a7ae60e791e09967d81d4fcc7fc388182d1bd394"),
        ("1.59.1", "0cbedb6fb68f1c07e18eb4c48256320777707e7d0c55063ae56c15db3224a61e"),
        ("1.63.2", "27a2499c7e8aff199665b22741997e485eccc8645aa9176c7c988e6fae507945"),
        ("1.66.0", "d7abcd75fabb2e0ec9f74466401f6c119a0b498e27370e9be4c94cb7e382b8ed"),
        ("1.70.0", "b8bfcca8c25a2bb253e0e0b0adaf8c00773e5e6af6fd92397576680b807e0fd8"),
        ("1.76.0", "59e13344a9f3651aa201a03e2bee815a3bf43a4baf1f9ff8a9b62a840ce25fac"),
    )
)
ROOTS = {
    "google.api.HttpRule": "google/api/http.proto",
    "google.api.MetricDescriptor": "google/api/metric.proto",
    "google.api.Service": "google/api/service.proto",
    "google.logging.type.HttpRequest": "google/logging/type/http_request.proto",
    "google.longrunning.Operation": "google/longrunning/operations_proto.proto",
    "google.rpc.BadRequest": "google/rpc/error_details.proto",
    "google.rpc.Status": "google/rpc/status.proto",
    "google.type.Money": "google/type/money.proto",
}
"""Messages that people send, and the files in which they stand; Service leads to 70 others."""
_WELL_KNOWN = "google/protobuf/"


@functools.cache
def envelopes(root: str) -> dict[str, bytes]:
    """Return the envelope of the message by release number. Raise DemoError if they cannot be fetched."""
    fetched = _fetched()
    if isinstance(fetched, DemoError):
        raise fetched
    return {release.number: _envelope(wheel, root) for release, wheel in fetched.items()}


@functools.cache
def _fetched() -> dict[Release, Path] | DemoError:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_RETRIES", "0")  # a machine without a network shall learn it soon
        patch.setenv("PIP_DEFAULT_TIMEOUT", "10")
        try:
            return wheels.fetch(RELEASES, Progress())
        except DemoError as error:
            return error


def _envelope(wheel: Path, root: str) -> bytes:
    files = _files(wheel)
    name = ROOTS[root] if ROOTS[root] in files else ROOTS[root].replace("_proto.proto", ".proto")
    needed: dict[str, FileDescriptorProto] = {}
    waiting = [name]
    for each in waiting:
        if each not in needed:
            needed[each] = files[each] if each in files else _well_known(each)
            waiting.extend(needed[each].dependency)
    return json.dumps(
        protobuf_schemas.envelope(FileDescriptorSet(file=reversed(list(needed.values()))), root, name)
    ).encode()


@functools.cache
def _files(wheel: Path) -> dict[str, FileDescriptorProto]:
    with zipfile.ZipFile(wheel) as archive:
        modules = [archive.read(name) for name in archive.namelist() if name.endswith("_pb2.py")]
    return {file.name: file for module in modules for file in _descriptors(module)}


def _descriptors(module: bytes) -> Iterator[FileDescriptorProto]:
    """Return the argument of a module's `AddSerializedFile` call, or of `FileDescriptor` in an older module."""
    for call in (node for node in ast.walk(ast.parse(module)) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        arguments = {word.arg: word.value for word in call.keywords}
        value = call.args[0] if name == "AddSerializedFile" else arguments.get("serialized_pb")
        if name in ("AddSerializedFile", "FileDescriptor") and isinstance(value, ast.Constant):
            yield FileDescriptorProto.FromString(value.value)


def _well_known(name: str) -> FileDescriptorProto:
    assert name.startswith(_WELL_KNOWN)
    importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    return FileDescriptorProto.FromString(descriptor_pool.Default().FindFileByName(name).serialized_pb)
