"""First-parent history of a Git repository: its commits, the files that they changed, and the files' contents.

One `git log` and one `git cat-file` read a whole history, whatever its length.
"""

import os
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final, Self

from topicschema.cli.inputs.files import UsageError
from topicschema.judging.clock import rfc3339

_REGULAR_FILES: Final = ("100644", "100755")
_REMEDY: Final = (
    "fetch it: `git fetch --unshallow`, in GitHub Actions `fetch-depth: 0` of actions/checkout, in GitLab CI "
    '`GIT_DEPTH: "0"`'
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the first-parent history, and its time: RFC 3339, UTC, with seconds.

    `changes` has the new content's id by path, or None for a removed file.
    """

    hash: str
    time: str
    changes: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository by the folder of its working tree, and the commit of a REF."""

    root: Path
    ref: str
    commit: str

    @classmethod
    def open(cls, folder: Path, ref: str) -> Self:
        """Return the repository of a folder. Raises UsageError if it lacks the REF or a part of its history."""
        if not ref:
            raise UsageError("--git has an empty REF: is a variable unset?")
        root, is_shallow = _output(folder, "rev-parse", "--show-toplevel", "--is-shallow-repository").splitlines()
        if is_shallow == "true":
            raise UsageError(f"the clone is shallow, so Git lacks a part of the history of {ref}; {_REMEDY}")
        try:
            commit = _output(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        except UsageError:
            raise UsageError(f"Git has no commit {ref!r} here; fetch it, or name another one after --git") from None
        return cls(Path(root), ref, commit.strip())

    def path_of(self, file: Path) -> str:
        """Return the file's path in the repository. Raises UsageError if the file is elsewhere."""
        try:
            return file.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            raise UsageError(f"{file} is not in the repository {self.root}, whose history --git reads") from None

    def commits(self, suffixes: Collection[str]) -> Iterator[Commit]:
        """Yield the commits that changed files with these suffixes, oldest first."""
        log = (
            *("log", "--first-parent", "--reverse", "--diff-merges=first-parent", "--raw", "--no-abbrev", "-z"),
            *("--no-renames", "--format=%x01%H %ct", self.commit, "--"),
            *(f":(top,icase)*{suffix}" for suffix in suffixes),
        )
        for text in _output(self.root, "-c", "log.showRoot=true", *log).split("\x01")[1:]:
            names, *fields = text.strip("\0\n").replace("\0\n", "\0").split("\0")
            hash_, seconds = names.split()
            time = rfc3339(datetime.fromtimestamp(int(seconds), UTC))
            yield Commit(hash_, time, dict(map(_change, fields[::2], fields[1::2])))

    def contents(self, ids: Collection[str]) -> Iterator[bytes]:
        """Yield the contents in the order of their ids. Git reads on meanwhile."""
        with tempfile.TemporaryFile() as requests:
            requests.write("".join(f"{id_}\n" for id_ in ids).encode())
            requests.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603
                    ["git", "-C", str(self.root), "cat-file", "--batch", "--buffer"],  # noqa: S607  # the user's own git
                    stdin=requests,
                    stdout=subprocess.PIPE,
                )
            except OSError as error:
                raise _not_started(error) from None
        with process:
            assert process.stdout is not None  # noqa: S101  # for the type checker
            for id_ in ids:
                yield _content(process.stdout, id_)


def _change(status: str, path: str) -> tuple[str, str | None]:
    _, mode, _, id_, _ = status.split(" ")
    return path, id_ if mode in _REGULAR_FILES else None


def _content(stream: IO[bytes], id_: str) -> bytes:
    header = stream.readline().split()
    if header[-1] == b"missing":  # as in a partial clone without its server
        raise UsageError(f"Git lacks the object {id_[:12]} of the history; fetch it")
    content = stream.read(int(header[2]))
    stream.read(1)
    return content


def _output(folder: Path, *arguments: str) -> str:
    """Return the output of git. Raises UsageError with its message if it fails."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(folder), *arguments],  # noqa: S607  # the user's own git
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise _not_started(error) from None
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise UsageError(f"git: {message or f'exit code {done.returncode}'}")
    return os.fsdecode(done.stdout)


def _not_started(error: OSError) -> UsageError:
    return UsageError(f"git cannot be started: {error.strerror}; --git needs it")
