"""Folder of an audit: `facts` and the `checkpoint` of their stream, and `tables-N` of each run.

`facts` and `checkpoint` belong together: Spark's log in each of them has the number of the last micro-batch. `tables`
names the folder of the last complete run. It changes at once, so a run that is killed leaves the former tables.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyarrow import ArrowException, fs

from topicschema.spark.audit.stream import IDENTITY
from topicschema.spark.errors import InvalidOptionError
from topicschema.validation.request import shown

_CHECKPOINT: Final = "checkpoint"
_FACTS: Final = "facts"
_TABLES: Final = "tables"
_BEFORE: Final = "before.json"
_BATCH: Final = re.compile(r"(\d+)(?:\.compact)?")
_RUN: Final = re.compile(r"tables-(\d{8})")


@dataclass(frozen=True, slots=True)
class AuditFolder:
    """Folder of an audit, at `root` for Spark. `files` has its contents by their paths in the folder.

    In a local folder, `tables` is a symbolic link. In an object store it is a file with the name of its target.
    """

    root: str
    files: fs.FileSystem
    is_local: bool

    @classmethod
    def create(cls, output: Path | str) -> "AuditFolder":
        """Return the folder, which is created if it does not exist. `output` may be a URI `s3://BUCKET/PATH?OPTIONS`.

        Raises InvalidOptionError if that is impossible.
        """
        if isinstance(output, str) and output.startswith("s3://"):
            return cls._of_store(output)
        absolute = Path(output).resolve()
        try:
            absolute.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidOptionError(f"output {output}: {error.strerror}") from None
        return cls(str(absolute), fs.SubTreeFileSystem(str(absolute), fs.LocalFileSystem()), is_local=True)

    @classmethod
    def _of_store(cls, uri: str) -> "AuditFolder":
        try:
            store, path = fs.FileSystem.from_uri(uri)
        except (ArrowException, OSError, ValueError) as error:
            raise InvalidOptionError(f"output {shown(uri)}: {error}") from None
        return cls(f"s3a://{path.rstrip('/')}", fs.SubTreeFileSystem(path, store), is_local=False)

    @property
    def facts(self) -> str:
        """Folder of the facts."""
        return f"{self.root}/{_FACTS}"

    @property
    def checkpoint(self) -> str:
        """Folder of the checkpoint of the stream that writes the facts."""
        return f"{self.root}/{_CHECKPOINT}"

    @property
    def has_facts(self) -> bool:
        """True if an audit has written facts."""
        return self._exists(_FACTS)

    def tables(self) -> str | None:
        """Return the folder of the tables of the last complete run, or None if there was none."""
        try:
            name = str(Path(self.root, _TABLES).readlink()) if self.is_local else self._text(_TABLES)
        except FileNotFoundError:
            return None
        return f"{self.root}/{name}"

    @property
    def published(self) -> str:
        """The tables of the last complete run, by a path that remains the same in a local folder."""
        return f"{self.root}/{_TABLES}" if self.is_local else f"{self.tables()}".replace("s3a://", "s3://", 1)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other audits with this local folder. Raises InvalidOptionError if one is running.

        An object store has no locks. There, Spark ends one of two streams with the same checkpoint.
        """
        with open(f"{self.root}/.lock", "w") if self.is_local else nullcontext() as file:  # noqa: PTH123  # a text
            try:
                if file is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidOptionError(f"output {self.root}: another audit is writing there") from None
            yield

    def demand_stream(self, identity: str) -> bool:
        """Delete facts and checkpoint unless they belong together and to the audit `identity`.

        Return True if they remain, or if there are none.
        """
        if not self._exists(_FACTS) and not self._exists(_CHECKPOINT):
            return True
        if self._is_stream_of(identity):
            return True
        self.delete_stream()
        return False

    def last_offset(self) -> Mapping[str, str]:
        """Return the offset of the last micro-batch, also if it was interrupted. It is empty if there is none."""
        offsets = f"{_CHECKPOINT}/offsets"
        return self._offset(f"{offsets}/{self._last(offsets)}") or {}

    def delete_stream(self) -> None:
        """Delete facts and checkpoint. If only one of them is deleted, the next run deletes the other."""
        for each in (_CHECKPOINT, _FACTS):
            if self._exists(each):
                self.files.delete_dir(each)

    def unreadable_before(self, job: str, current: Callable[[], Iterable[str]]) -> frozenset[str]:
        """Return the topics with unreadable messages before the Job of this uid, the same for all its pods.

        The first pod stores those that `current` returns: it may write tables, and end before it reports them.
        """
        try:
            stored = json.loads(self._text(_BEFORE))
        except FileNotFoundError:
            stored = {}
        if stored.get("job") != job:
            stored = {"job": job, "topics": sorted(current())}
            with self.files.open_output_stream(_BEFORE) as file:
                file.write(json.dumps(stored).encode())
        return frozenset(stored["topics"])

    @contextmanager
    def replacing_tables(self) -> Iterator[str]:
        """Yield a new folder for tables. If the block ends without an exception, they replace the former ones.

        The folder of the former tables remains until the next run, because a query may still read it.
        """
        numbers = [int(match[1]) for name in self._names("") if (match := _RUN.fullmatch(name))]
        new = f"tables-{max(numbers, default=0) + 1:08}"
        self.files.create_dir(new)
        yield f"{self.root}/{new}"
        former = self.tables()
        self._name_tables(new)
        for number in numbers:
            name = f"tables-{number:08}"
            if f"{self.root}/{name}" != former:
                self.files.delete_dir(name)

    def _name_tables(self, name: str) -> None:
        if not self.is_local:
            with self.files.open_output_stream(_TABLES) as file:
                file.write(name.encode())
            return
        link = Path(self.root, f".{_TABLES}.{os.getpid()}")
        link.unlink(missing_ok=True)
        link.symlink_to(name)
        link.replace(link.with_name(_TABLES))

    def _is_stream_of(self, identity: str) -> bool:
        """Return True if facts and checkpoint are those of the audit, at the same micro-batch."""
        offset, commit = (self._last(f"{_CHECKPOINT}/{name}") for name in ("offsets", "commits"))
        written = self._last(f"{_FACTS}/_spark_metadata")
        if offset < 0:  # nothing has been planned yet
            return written < 0
        is_complete = commit <= offset <= commit + 1 and written in {commit, offset}
        return is_complete and self.last_offset().get(IDENTITY) == identity

    def _exists(self, path: str) -> bool:
        return bool(self.files.get_file_info(path).type != fs.FileType.NotFound)

    def _names(self, path: str) -> list[str]:
        return [each.base_name for each in self.files.get_file_info(fs.FileSelector(path, allow_not_found=True))]

    def _last(self, log: str) -> int:
        """Return the number of the last micro-batch in a log of Spark, or -1."""
        return max((int(match[1]) for name in self._names(log) if (match := _BATCH.fullmatch(name))), default=-1)

    def _offset(self, path: str) -> Mapping[str, str] | None:
        """Return the offset in a file of Spark's log, which is the last line. Return None if it has none."""
        try:
            *_, line = self._text(path).rstrip("\n").split("\n")
            offset = json.loads(line)
        except (OSError, ValueError):
            return None
        return offset if isinstance(offset, dict) else None

    def _text(self, path: str) -> str:
        with self.files.open_input_stream(path) as file:
            return str(file.read(), "utf-8")
