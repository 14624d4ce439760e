"""Folder of an audit: the facts with the checkpoint of their stream, and the tables that are derived from them.

`facts` and `checkpoint` belong together: Spark's log in each of them has the number of the last micro-batch. `tables`
is a symbolic link to the folder of the last complete run. So it changes at once, and a run that is killed leaves it.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from topicschema.spark.audit.stream import IDENTITY
from topicschema.spark.errors import InvalidOptionError

_BATCH: Final = re.compile(r"(\d+)(?:\.compact)?")
_RUN: Final = re.compile(r"tables-(\d{8})")


@dataclass(frozen=True, slots=True)
class AuditFolder:
    """Folder of an audit."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> "AuditFolder":
        """Return the folder, which is created if it does not exist. Raises InvalidOptionError if that is impossible."""
        absolute = path.resolve()
        try:
            absolute.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidOptionError(f"output {path}: {error.strerror}") from None
        return cls(absolute)

    @property
    def facts(self) -> Path:
        """Folder of the facts."""
        return self.path / "facts"

    @property
    def checkpoint(self) -> Path:
        """Folder of the checkpoint of the stream that writes the facts."""
        return self.path / "checkpoint"

    @property
    def survey(self) -> Path:
        """File with the survey of the current run."""
        return self.path / "survey.json"

    @property
    def tables(self) -> Path:
        """Link to the tables of the last complete run."""
        return self.path / "tables"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other audits with this folder. Raises InvalidOptionError if one is running."""
        with (self.path / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidOptionError(f"output {self.path}: another audit is writing there") from None
            yield

    def demand_stream(self, identity: str) -> bool:
        """Delete facts and checkpoint unless they belong together and to the audit `identity`.

        Return True if they remain, or if there are none.
        """
        if not self.facts.exists() and not self.checkpoint.exists():
            return True
        if self._is_stream_of(identity):
            return True
        self.delete_stream()
        return False

    def last_offset(self) -> Mapping[str, str]:
        """Return the offset of the last micro-batch, also if it was interrupted. It is empty if there is none."""
        offsets = self.checkpoint / "offsets"
        return _offset_of(offsets / str(_last(offsets))) or {}

    def delete_stream(self) -> None:
        """Delete facts and checkpoint. If only one of them is deleted, the next run deletes the other."""
        for each in (self.checkpoint, self.facts):
            if each.exists():
                shutil.rmtree(each)

    def _is_stream_of(self, identity: str) -> bool:
        """Return True if facts and checkpoint are those of the audit, at the same micro-batch."""
        offset, commit = (_last(self.checkpoint / name) for name in ("offsets", "commits"))
        written = _last(self.facts / "_spark_metadata")
        if offset < 0:  # nothing has been planned yet
            return written < 0
        is_complete = commit <= offset <= commit + 1 and written in {commit, offset}
        return is_complete and self.last_offset().get(IDENTITY) == identity

    @contextmanager
    def replacing_tables(self) -> Iterator[Path]:
        """Yield a new folder for tables. If the block ends without an exception, they replace the former ones.

        The folder of the former tables remains until the next run, because a query may still read it.
        """
        numbers = [int(match[1]) for each in self.path.iterdir() if (match := _RUN.fullmatch(each.name))]
        new = self.path / f"tables-{max(numbers, default=0) + 1:08}"
        new.mkdir()
        yield new
        former = self.tables.resolve() if self.tables.is_symlink() else None
        link = self.path / f".tables.{os.getpid()}"
        link.unlink(missing_ok=True)
        link.symlink_to(new.name)
        link.replace(self.tables)
        for number in numbers:
            folder = self.path / f"tables-{number:08}"
            if folder != former:
                shutil.rmtree(folder, ignore_errors=True)


def _last(log: Path) -> int:
    """Return the number of the last micro-batch in a log of Spark, or -1."""
    if not log.is_dir():
        return -1
    return max((int(match[1]) for each in log.iterdir() if (match := _BATCH.fullmatch(each.name))), default=-1)


def _offset_of(offset_file: Path) -> Mapping[str, str] | None:
    """Return the offset in a file of Spark's log, which is the last line. Return None if it has none."""
    try:
        *_, line = offset_file.read_text(encoding="utf-8").rstrip("\n").split("\n")
        offset = json.loads(line)
    except (OSError, ValueError):
        return None
    return offset if isinstance(offset, dict) else None
