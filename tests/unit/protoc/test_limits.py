"""Hostile sources end in an error with advice, and faults of the machine in a WaitingError."""

import asyncio
import contextlib
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from topicschema.core.errors import InvalidSchemaError, WaitingError
from topicschema.protoc import (
    LIMITS,
    MAX_FILES,
    ProtobufSources,
    ProtocLimits,
    compile_envelope,
    compile_envelope_async,
)

MEBIBYTE = 1024 * 1024
BEYOND_ADDRESSES = 1 << 62
EMPTY = ProtobufSources("A", {"a.proto": 'syntax = "proto3"; message A {}'})
# Every field is compared with every reserved number.
RESERVED = ",".join(str(number) for number in range(100_000, 138_000))
MANY_FIELDS = "".join(f"bool a{number}={number};" for number in range(20_000, 58_000))
SLOW = ProtobufSources("A", {"a.proto": f'syntax = "proto3"; message A {{ reserved {RESERVED}; {MANY_FIELDS}}}'})
LARGE = ProtobufSources("A", {"a.proto": 'syntax = "proto3"; message A {}' + "message B {}" * 80_000})
LONG_PACKAGE = ".".join(["p" * 100] * 5)
FIELDS = "".join(f"A a{number}={number};" for number in range(20_000, 70_000))
VERBOSE = ProtobufSources(
    f"{LONG_PACKAGE}.A", {"a.proto": f'syntax = "proto3"; package {LONG_PACKAGE}; message A {{{FIELDS}}}'}
)
OPTION = "x" * (MEBIBYTE - 100)
LONG_OPTION = ProtobufSources("A", {"a.proto": f'syntax = "proto3"; option java_package = "{OPTION}"; message A {{}}'})


def refused(sources: ProtobufSources, limits: ProtocLimits = LIMITS) -> InvalidSchemaError:
    with pytest.raises(InvalidSchemaError) as caught:
        compile_envelope(sources, limits)
    return caught.value


Children = Callable[[], set[str]]


@pytest.fixture
def children() -> Children:
    """Return a function for the ids of the child processes that the test started."""
    others = all_children()
    return lambda: all_children() - others


def all_children() -> set[str]:
    ids: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has just ended
            ids.update((task / "children").read_text().split())
    return ids


async def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # the kernel has no event for it
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("sources", "limits", "rule", "words"),
    [
        (SLOW, ProtocLimits(cpu_seconds=1, seconds=60), "COMPILATION_TOO_EXPENSIVE", "more than 1 seconds"),
        (LARGE, ProtocLimits(memory=100 * MEBIBYTE, cpu_seconds=60, seconds=60), "COMPILATION_TOO_EXPENSIVE",
         "more than 100 MiB of memory"),
        (VERBOSE, ProtocLimits(cpu_seconds=60, seconds=60), "COMPILATION_TOO_EXPENSIVE", "write more than 16 MiB"),
        (LONG_OPTION, LIMITS, "SOURCES_TOO_LARGE", "the envelope has 1,398"),
    ],
    ids=["time", "memory", "output", "envelope"],
)  # fmt: skip
def test_a_compilation_is_limited(sources: ProtobufSources, limits: ProtocLimits, rule: str, words: str) -> None:
    error = refused(sources, limits)
    assert (error.rule, words in error.message) == (rule, True), error.message
    assert limits is LIMITS or error.place.path == "$.files"


def test_ten_thousand_messages_are_compiled() -> None:
    text = "".join(f"message M{number} {{ int32 a = 1; }}\n" for number in range(10_000))
    assert compile_envelope(ProtobufSources("M9999", {"a.proto": f'syntax = "proto3"; {text}'}))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('syntax = "proto3";' + "message A {" * 90_000, "INVALID_PROTO"),
        ('syntax = "proto3"; option (a) = {' + "a {" * 300_000, "INVALID_PROTO"),
        ('syntax = "proto3"; message A {' + "".join(f"B b{n} = {n};" for n in range(1, 10_000)), "INVALID_PROTO"),
        ("".join(f'import "b{number}.proto";' for number in range(10_000)), "MISSING_FILE"),
        ("\0" * 10_000, "INVALID_PROTO"),
        ('syntax = "proto3"; package ' + ".".join("p" * 10_000) + "; message A {}", "INVALID_PROTO"),
        ('syntax = "proto9"; message A {}', "INVALID_PROTO"),
        ('edition = "9999"; message A {}', "INVALID_PROTO"),
        ("", "UNKNOWN_MESSAGE"),
    ],
    ids=lambda value: value[:20],
)
def test_hostile_texts_are_refused_in_few_words(text: str, rule: str) -> None:
    error = refused(ProtobufSources("A", {"a.proto": text}))
    assert error.rule == rule
    assert len(error.message) < 500


def test_as_many_files_as_are_taken_are_compiled_though_all_import_each_other() -> None:
    names = [f"f{number}.proto" for number in range(MAX_FILES)]
    files = {
        name: 'syntax = "proto3";' + "".join(f'import public "{each}";' for each in names[index + 1 :])
        for index, name in enumerate(names)
    }
    files["f0.proto"] += "message A {}"
    assert compile_envelope(ProtobufSources("A", files))


def test_where_the_clock_runs_out_the_machine_is_at_fault() -> None:
    with pytest.raises(WaitingError, match="the machine is busy") as caught:
        compile_envelope(EMPTY, ProtocLimits(seconds=0))
    assert caught.value.reason == "CompilerTimeout"


def test_a_compiler_that_cannot_start_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(WaitingError, match="cannot be started: No such file") as caught:
        compile_envelope(EMPTY)
    assert caught.value.reason == "CompilerUnavailable"


def test_a_machine_that_has_no_more_files_is_waited_for() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(WaitingError, match="cannot be started: Too many open files"):
            compile_envelope(EMPTY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture
def no_more_threads() -> Iterator[None]:
    """Set a stack size of threads that no address space has, whatever a kernel overcommits."""
    before = threading.stack_size(BEYOND_ADDRESSES)
    yield
    threading.stack_size(before)


@pytest.mark.usefixtures("no_more_threads")
def test_a_machine_without_threads_is_a_waiting_error_and_leaves_no_child() -> None:
    with pytest.raises(WaitingError, match="cannot be started: can't start new thread") as caught:
        compile_envelope(EMPTY)
    assert caught.value.reason == "CompilerUnavailable"


def test_a_missing_thread_for_the_compilation_is_a_waiting_error() -> None:
    program = (
        "import asyncio, threading; from topicschema.protoc import ProtobufSources, compile_envelope_async\n"
        f"threading.stack_size({BEYOND_ADDRESSES})\n"
        "asyncio.run(compile_envelope_async(ProtobufSources('A', {'a.proto': ''})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("WaitingError: the compiler cannot be started: can't start new thread")


def test_a_compiler_that_is_not_installed_is_a_waiting_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [each for each in sys.path if not each.endswith("site-packages")])
    with pytest.raises(WaitingError, match="No module named 'grpc_tools'"):
        compile_envelope(EMPTY)


def test_the_compiler_is_never_loaded_into_this_process() -> None:
    program = "import sys; from topicschema import protoc; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "topicschema.protoc" in loaded
    assert [name for name in loaded if name.partition(".")[0] in {"grpc", "grpc_tools", "google"}] == []


def test_nothing_stays_open_and_no_child_is_left(children: Children) -> None:
    compile_envelope(EMPTY)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for sources in (EMPTY, ProtobufSources("B", EMPTY.files), ProtobufSources("A", {"a.proto": "x"})):
        for limits in (LIMITS, ProtocLimits(seconds=0)):
            with contextlib.suppress(InvalidSchemaError, WaitingError):
                compile_envelope(sources, limits)
    assert (len(list(Path("/proc/self/fd").iterdir())), children()) == (before, set())


async def test_the_event_loop_runs_during_a_compilation(children: Children) -> None:
    compiling = asyncio.create_task(compile_envelope_async(SLOW, ProtocLimits(cpu_seconds=1, seconds=60)))
    has_child = False
    while not compiling.done():
        await asyncio.sleep(0.01)
        has_child |= bool(children())
    assert isinstance(compiling.exception(), InvalidSchemaError)
    assert has_child


async def test_a_child_has_no_environment_and_is_killed_first_if_memory_is_short(children: Children) -> None:
    compiling = asyncio.create_task(compile_envelope_async(SLOW, ProtocLimits(cpu_seconds=60, seconds=60)))
    await wait_for(lambda: len(children()) == 1)
    child = Path("/proc", children().pop())
    await wait_for(lambda: (child / "oom_score_adj").read_text() == "1000\n")
    assert (child / "environ").read_bytes() == b""
    compiling.cancel()
    await wait_for(lambda: not children())


async def test_at_most_two_children_run_at_once(children: Children) -> None:
    compiling = [asyncio.create_task(compile_envelope_async(EMPTY)) for _ in range(8)]
    most = 0
    while not all(each.done() for each in compiling):
        most = max(most, len(children()))
        await asyncio.sleep(0)
    assert most <= 2  # two at once: see the test of cancelled compilations
    assert len({each.result() for each in compiling}) == 1


async def test_a_cancelled_compilation_leaves_no_child(children: Children) -> None:
    limits = ProtocLimits(cpu_seconds=60, seconds=60)
    compiling = [asyncio.create_task(compile_envelope_async(SLOW, limits)) for _ in range(5)]
    await wait_for(lambda: len(children()) == 2)
    for each in compiling:
        each.cancel()
    results = await asyncio.gather(*compiling, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in results)
    await wait_for(lambda: not children())
    assert await compile_envelope_async(EMPTY)
