"""Program of the child process: sources on standard input, the envelope on standard output.

It is run by its path, and imports nothing of the product. It limits itself before it reads its input, and works in
memory alone.

It writes a blank when it begins, and then one JSON object:

* `{"envelope", "message"}`: the result.
* `{"messages", "count"}`: the root message is missing; some of the messages that exist.
* `{"size"}`: the envelope is too large.

No object follows if protoc reports errors, which it does on standard error. The n-th file is called `/proc/self/fd/`
and `FIRST_SOURCE` + n there.
"""

import base64
import contextlib
import difflib
import importlib
import json
import os
import re
import resource
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

MAX_ENVELOPE: Final = 1024 * 1024
OUT_OF_MEMORY: Final = 3
"""Exit code if Python ran out of memory."""
COMPLAINED: Final = 4
"""Exit code if protoc reported errors."""
FIRST_SOURCE: Final = 100
MAX_WRITTEN: Final = 16 * 1024 * 1024
"""Maximum bytes of descriptors with source positions, and of error messages.

SIGXFSZ ends a process that writes more.
"""
_MAX_OPEN_FILES: Final = 512
_NO_SOURCES: Final = "/proc/self/fdinfo"
"""Working directory without `.proto` files. protoc searches there for its input before it uses its path mappings."""
_WELL_KNOWN: Final = "google/protobuf/"
_OF_JAVA_CLIENT: Final = Path(__file__).with_name("java_client.binpb")
"""FileDescriptorSet of `_DIFFERENT` in protobuf-java 3.25.5, which the Java clients of Pulsar 4 have."""
_DIFFERENT: Final = ("api.proto", "descriptor.proto")
"""Files of google/protobuf/ that differ from protoc's own, which are those of protobuf-java 4.35.0 in Pulsar 5.0."""
_EDITION: Final = re.compile(r"^\s*edition\s*=\s*[\"']", re.MULTILINE)
"""An edition, which only a later protobuf-java supports. Some features need its `descriptor.proto`."""
_SHOWN: Final = 5
_COMPARED: Final = 500
_JSON_NAME: Final = 10
_FIELD, _NESTED, _EXTENSION = 2, 3, 6
_MESSAGE, _FILE_EXTENSION = 4, 7


def main() -> int:
    """Answer the request on standard input and return the exit code."""
    memory, cpu_seconds = map(int, sys.argv[1:])
    _limit(memory, cpu_seconds)
    request = json.load(sys.stdin.buffer)
    sys.path[:] = request["path"]
    protoc = importlib.import_module("grpc_tools._protoc_compiler")
    descriptors = importlib.import_module("google.protobuf.descriptor_pb2")
    sys.stdout.write(" ")
    sys.stdout.flush()
    try:
        compiled = _compiled(request["files"], protoc, has_protobuf_4=request["has_protobuf_4"])
        if compiled is None:
            return COMPLAINED
        descriptor_set = descriptors.FileDescriptorSet.FromString(compiled)
        json.dump(_answer(request, descriptor_set), sys.stdout)
    except MemoryError:
        return OUT_OF_MEMORY
    return 0


def _limit(memory: int, cpu_seconds: int) -> None:
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_FSIZE: MAX_WRITTEN,
        resource.RLIMIT_NOFILE: _MAX_OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for name, limit in limits.items():
        hard = resource.getrlimit(name)[1]
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(name, (least, hard if name == resource.RLIMIT_CPU else least))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    with contextlib.suppress(OSError):  # if memory runs short, the kernel ends this process first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _answer(request: Mapping[str, Any], compiled: Any) -> dict[str, Any]:
    files = {file.name: file for file in compiled.file}
    files_by_message = _messages(files[name] for name in request["files"])
    root = request["message"]
    if root is None:  # the only one at the top level of the first file
        first = files[next(iter(request["files"]))]
        own = [_named(first.package, message) for message in first.message_type]
        root = own[0] if len(own) == 1 else None
    if root not in files_by_message:
        return {"messages": _alike(root or "", sorted(files_by_message)), "count": len(files_by_message)}
    needed = [files[name] for name in _as_java_keeps(_needed(files, files_by_message[root]))]
    for file in needed:
        _strip(file)
    return _envelope(type(compiled)(file=needed), root, files_by_message[root])


def _compiled(files: Mapping[str, str], protoc: ModuleType, *, has_protobuf_4: bool) -> bytes | None:
    """Return the serialized FileDescriptorSet, or None if protoc reports errors."""
    for number, text in enumerate(files.values(), FIRST_SOURCE):
        with os.fdopen(os.memfd_create("source"), "wb") as source:
            source.write(text.encode())
            source.flush()
            os.dup2(source.fileno(), number)
    result = os.memfd_create("result")
    maps = [f"-I{name}=/proc/self/fd/{number}" for number, name in enumerate(files, FIRST_SOURCE)]
    own = Path(protoc.__file__ or "").with_name("_proto")
    well_known = [f"-I{own}"]
    if not has_protobuf_4 and not any(_EDITION.search(text) for text in files.values()):
        bundled = (own / _WELL_KNOWN).rglob("*.proto")
        same = (path for path in bundled if path.name not in _DIFFERENT)
        well_known = [f"--descriptor_set_in={_OF_JAVA_CLIENT}", *(f"-I{path.relative_to(own)}={path}" for path in same)]
    options = ["--include_imports", "--include_source_info", f"--descriptor_set_out=/proc/self/fd/{result}"]
    os.chdir(_NO_SOURCES)
    if protoc.run_main([each.encode() for each in ["protoc", *maps, *well_known, *options, *files]]):
        return None
    return os.pread(result, os.fstat(result).st_size, 0)


def _messages(files: Iterable[Any]) -> dict[str, str]:
    """Return the file of each message type, by its full name."""
    files_by_message: dict[str, str] = {}
    for file in files:
        waiting = [(_named(file.package, each), each) for each in file.message_type]
        while waiting:
            name, message = waiting.pop()
            if not message.options.map_entry:
                files_by_message[name] = file.name
                waiting += [(_named(name, each), each) for each in message.nested_type]
    return files_by_message


def _alike(root: str, names: list[str]) -> list[str]:
    """Return a few similar names: first those that differ in the package or in a few letters."""
    last = root.rpartition(".")[2]
    ends = [name for name in names if name.rpartition(".")[2] == last]
    alike = difflib.get_close_matches(root, names[:_COMPARED], _SHOWN)
    return list(dict.fromkeys([*ends, *alike, *names]))[:_SHOWN]


def _named(scope: str, message: Any) -> str:
    return f"{scope}.{message.name}" if scope else message.name


def _needed(files: Mapping[str, Any], root: str) -> list[str]:
    """Return the root file and all its imports, in the order in which the Java client finishes each."""
    path, done = {root: iter(files[root].dependency)}, dict[str, None]()
    while path:
        name = next(reversed(path))
        imported = next((each for each in path[name] if each not in done), None)
        if imported is None:
            del path[name]
            done[name] = None
        else:
            path[imported] = iter(files[imported].dependency)
    return list(done)


def _as_java_keeps(names: list[str]) -> list[str]:
    """Return the names in the order of a Java HashMap's entries, inserted in the given order.

    If nine or more share a bucket of a map of 64, Java has another order, which is not reproduced.
    """
    capacity = 16
    while len(names) > capacity * 3 // 4:
        capacity *= 2
    return sorted(names, key=lambda name: _java_hash(name) & (capacity - 1))


def _java_hash(name: str) -> int:
    code = 0
    for char in name.encode("ascii"):
        code = (31 * code + char) & 0xFFFFFFFF
    return code ^ code >> 16


def _strip(file: Any) -> None:
    """Remove what generated classes do not hold: source positions, and JSON names that the source does not set.

    The classes of the well-known types come with protobuf's library, whose build (since 3.22) retains all JSON names.
    """
    places = file.source_code_info.location
    explicit = {tuple(each.path[:-1]) for each in places if each.path and each.path[-1] == _JSON_NAME}
    file.ClearField("source_code_info")
    if file.name.startswith(_WELL_KNOWN):
        return
    for path, field in _fields(file):
        if path not in explicit:
            field.ClearField("json_name")


def _fields(file: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield all fields and extensions of a file, each with its path as source_code_info has it."""
    yield from (((_FILE_EXTENSION, index), each) for index, each in enumerate(file.extension))
    waiting: list[tuple[tuple[int, ...], Any]]
    waiting = [((_MESSAGE, index), each) for index, each in enumerate(file.message_type)]
    while waiting:
        path, message = waiting.pop()
        yield from (((*path, _FIELD, index), each) for index, each in enumerate(message.field))
        yield from (((*path, _EXTENSION, index), each) for index, each in enumerate(message.extension))
        waiting += [((*path, _NESTED, index), each) for index, each in enumerate(message.nested_type)]


def _envelope(descriptors: Any, message: str, file: str) -> dict[str, Any]:
    """Return the text as the Java client's Jackson writes it."""
    content = {
        "fileDescriptorSet": base64.b64encode(descriptors.SerializeToString()).decode(),
        "rootMessageTypeName": message,
        "rootFileDescriptorName": file,
    }
    text = json.dumps(content, separators=(",", ":"))
    return {"envelope": text, "message": message} if len(text) <= MAX_ENVELOPE else {"size": len(text)}


if __name__ == "__main__":
    sys.exit(main())
