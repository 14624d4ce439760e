"""What a run is asked: all that it needs to know, as a value, as JSON and as the packed bytes that a Job mounts.

Credentials are not in it: paths of the files that a pod has mounted are. Nothing here reads anything.
"""

import hashlib
import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from topicschema.api.wire import decode, encode
from topicschema.core.errors import StalledError
from topicschema.core.schemas import PulsarLine, SchemaInfo
from topicschema.validation.errors import InvalidQuestionError

FORMAT: Final = 2
"""The form of the JSON; a run refuses a question of another one."""
MAX_BYTES: Final = 256 * 1024 * 1024
"""How large a question may be when it is unpacked."""
_NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
_MILLION: Final = 1_000_000


class FileFormat(StrEnum):
    """How files hold messages."""

    PARQUET = "parquet"
    AVRO = "avro"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns, or members of a line, tell what of a message; all but the payload's may be absent.

    Without a name for the payload, a line of JSON is the message itself. A partition is told where a name is given for
    its column; else each file counts as one.
    """

    payload: str = "value"
    key: str = "key"
    schema_version: str = "schema_version"
    publish_time: str = "publish_time"
    partition: str = ""

    def demanded(self, *, has_keys: bool) -> tuple[str, ...]:
        """The names beside the payload's that must be there: those that somebody gave, and the key's where it counts.

        A name that is written wrong would else be a message without that: without a key that could be judged.
        """
        usual = Columns()
        named = {
            self.key: has_keys or self.key != usual.key,
            self.schema_version: self.schema_version != usual.schema_version,
            self.publish_time: self.publish_time != usual.publish_time,
            self.partition: True,
        }
        return tuple(name for name, is_needed in named.items() if name and is_needed)


@dataclass(frozen=True, slots=True)
class FilesAsked:
    """Files at `uris`: paths, or what pyarrow's file systems know (`s3://`, `gs://`, `hdfs://`); folders count whole.

    Without a `format` it is told by the name's end. An Avro container's records are the messages themselves, written
    with its own schema. `version` is that of messages which name none.
    """

    uris: tuple[str, ...]
    format: FileFormat | None = None
    columns: Columns = Columns()
    version: int | None = None


def shown(uri: str) -> str:
    """What people find files by: the URI without secrets, and without what only tells how they are reached."""
    if "://" not in uri:
        return uri.rstrip("/")
    try:
        parts = urlsplit(uri)
    except ValueError:  # who reads it will say what is wrong with it
        return f"{uri.partition('://')[0]}://…"
    user, _, place = parts.netloc.rpartition("@")
    container = user.partition(":")[0] if parts.scheme.startswith("abfs") else ""
    return f"{parts.scheme}://{container and f'{container}@'}{place}{parts.path}".rstrip("/")


@dataclass(frozen=True, slots=True)
class OAuth2Asked:
    """OAuth2's client credentials flow; `key_file` holds the JSON of client id and secret."""

    issuer_url: str
    audience: str
    key_file: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class PulsarAsked:
    """A broker, and the mounted files by which the run says who it is: never the operator's own rights."""

    admin_url: str
    service_url: str
    token_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    ca_file: str | None = None
    oauth2: OAuth2Asked | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """Which of the messages are judged; None is no limit. The same seed takes the same messages."""

    max_messages: int | None = None
    percent: int = 100
    since_seconds: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """ValueError where a limit is none."""
        if not 1 <= self.percent <= 100:  # noqa: PLR2004  # per cent
            raise ValueError("percent must be from 1 to 100")
        if self.max_messages is not None and self.max_messages < 1:
            raise ValueError("maxMessages must be 1 or more")
        if self.since_seconds is not None and self.since_seconds < 1:
            raise ValueError("sinceSeconds must be 1 or more")
        if not 0 <= self.seed < 1 << 63:
            raise ValueError("seed must be from 0 to 2^63 - 1")

    def since(self, started: int) -> int | None:
        """From when on messages are judged in a run that started then (milliseconds since 1970); None for all."""
        return None if self.since_seconds is None else started - 1000 * self.since_seconds


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How much may be wrong with messages that pass."""

    max_invalid_per_million: int = 0

    def __post_init__(self) -> None:
        """ValueError where it is none."""
        if not 0 <= self.max_invalid_per_million <= _MILLION:
            raise ValueError("maxInvalidPerMillion must be from 0 to 1,000,000")

    def takes(self, invalid: int, messages: int) -> bool:
        """Whether so many invalid ones of the messages judged are few enough."""
        return invalid * _MILLION <= self.max_invalid_per_million * messages


@dataclass(frozen=True, slots=True)
class Question:
    """May messages that are there already be read with `candidate`?

    `versions` are the schemas that they were written with, by number. Schemas are as the broker stores them. One of
    `files` and `pulsar` is the source; `topic` is its full name, or what files are called in the report.
    """

    candidate: SchemaInfo
    versions: Mapping[int, SchemaInfo]
    topic: str
    files: FilesAsked | None = None
    pulsar: PulsarAsked | None = None
    line: PulsarLine = PulsarLine.V4_0
    sample: Sample = Sample()
    tolerance: Tolerance = Tolerance()
    include_values: bool = False
    ask_writers: bool = False
    executors: int = 0
    format: int = FORMAT
    labels: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)
    """What else makes this question another one (a value of the annotation `revalidate`, say); shown in the report."""

    def __post_init__(self) -> None:
        """ValueError where it is none."""
        if self.format != FORMAT:
            raise ValueError(f"format {self.format} is not known here; this program reads format {FORMAT}")
        if (self.files is None) == (self.pulsar is None):
            raise ValueError("one source is needed: files or pulsar")
        if not 0 <= self.executors <= 1000:  # noqa: PLR2004  # more is a slip of the pen
            raise ValueError("executors must be from 0 to 1,000")

    @property
    def text(self) -> bytes:
        """The JSON, the same bytes for the same question."""
        return json.dumps(encode(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
            errors="surrogatepass"
        )

    def pack(self) -> "Packed":
        """What a Job mounts; InvalidQuestionError where that is more than a run takes."""
        text = self.text
        check_size(len(text))
        # In 17 MiB of memory; 6 would take the operator 94.
        return Packed(_hash(text), lzma.compress(text, preset=2))

    @property
    def sha256(self) -> str:
        """`sha256:` and 64 hex digits: which question a verdict answers."""
        return _hash(self.text)


@dataclass(frozen=True, slots=True)
class Packed:
    """A question as it is mounted, in one part or several: its hash, and its JSON as xz packs it."""

    sha256: str
    content: bytes


def check_size(size: int) -> None:
    """InvalidQuestionError where schemas, or a question's text, of so many bytes are more than a run takes."""
    if size >= MAX_BYTES:
        raise InvalidQuestionError(
            f"its versions have more than {MAX_BYTES >> 20} MiB of schemas, too much for a run to read: set "
            "validation.mode Off for this topic"
        )


def _hash(text: bytes) -> str:
    return "sha256:" + hashlib.sha256(text).hexdigest()


def read(content: bytes) -> Question:
    """The question that JSON or its packed form says; InvalidQuestionError names what is wrong with it."""
    text = _unpacked(content) if content.startswith(b"\xfd7zXZ\0") else content
    try:
        found = json.loads(text.decode(errors="surrogatepass"))
    except (ValueError, RecursionError):
        raise InvalidQuestionError("the question is not JSON") from None
    try:
        return decode(Question, found, "question")
    except StalledError as error:
        raise InvalidQuestionError(error.message) from None


def _unpacked(content: bytes) -> bytes:
    unpacking = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_BYTES)
    try:
        text = unpacking.decompress(content, max_length=MAX_BYTES)
    except lzma.LZMAError as error:
        raise InvalidQuestionError(f"the question cannot be unpacked: {error}") from None
    if not unpacking.eof:
        raise InvalidQuestionError("the question is not whole, or larger than 256 MiB")
    return text
