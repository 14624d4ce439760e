"""Request of a run: all its parameters, as a value, as JSON and as the packed bytes that a Job mounts.

It has no credentials, only the paths of files that are mounted into the pod. The module reads no files.
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
from topicschema.core.schemas import PulsarVersion, SchemaInfo
from topicschema.validation.errors import InvalidRequestError

FORMAT: Final = 4
"""Format version of the JSON. A run refuses a request of another version."""
MAX_BYTES: Final = 256 * 1024 * 1024
"""Maximum bytes of an unpacked request."""
SPARK_FROM_SECONDS: Final = 60.0
"""Seconds of work for one pod from which on Spark's start pays off (docs/decisions/0026)."""
MOST_EXECUTORS: Final = 64
"""Maximum number of executors, as in SchemaRegistry."""
_NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
_MILLION: Final = 1_000_000


class FileFormat(StrEnum):
    """Format of files with messages."""

    PARQUET = "parquet"
    AVRO = "avro"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns, or of the members of a JSON line, with the parts of a message.

    Only the payload's is required. If `payload` is "", a JSON line is the message itself. If `partition` is "", each
    file counts as one partition.
    """

    payload: str = "value"
    key: str = "key"
    schema_version: str = "schema_version"
    publish_time: str = "publish_time"
    partition: str = ""

    def demanded(self, *, has_keys: bool) -> tuple[str, ...]:
        """Return the required names besides the payload's: those that a user set, and the key's if `has_keys`.

        A misspelled name would otherwise be a message without that part, for example without the key to validate.
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
class FileSource:
    """Files at `uris`: paths or URIs of pyarrow's file systems (`s3://`, `gs://`, `hdfs://`). Folders count whole.

    If `format` is None, the extension of the file decides. The records of an Avro container are the messages, written
    with its own schema. `version` is the schema version of messages without one.
    """

    uris: tuple[str, ...]
    format: FileFormat | None = None
    columns: Columns = Columns()
    version: int | None = None


def shown(uri: str) -> str:
    """Return the URI for messages to users, without secrets and connection parameters."""
    if "://" not in uri:
        return uri.rstrip("/")
    try:
        parts = urlsplit(uri)
    except ValueError:  # its reader reports the error
        return f"{uri.partition('://')[0]}://…"
    user, _, place = parts.netloc.rpartition("@")
    container = user.partition(":")[0] if parts.scheme.startswith("abfs") else ""
    return f"{parts.scheme}://{container and f'{container}@'}{place}{parts.path}".rstrip("/")


@dataclass(frozen=True, slots=True)
class OAuth2Flow:
    """OAuth2's client credentials flow. `secret_file` has the client's secret. Empty texts are not sent."""

    issuer_url: str
    client_id: str
    secret_file: str
    audience: str = ""
    scope: str = ""


ANYWHERE: Final = tuple(".".join("*" * labels) for labels in range(1, 12))
"""Hosts of any name: the user names the broker, and a broker redirects to the owner of a topic."""


@dataclass(frozen=True, slots=True)
class PulsarSource:
    """A broker and the mounted files with the credentials of the run, which never has the operator's own rights.

    `ca` is PEM. None means the system's CAs. `redirect_hosts` are the further hosts that get the credentials.
    `token_variable` is the name of an environment variable with a token, for runs that have no token file.
    """

    admin_url: str
    service_url: str
    token_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    ca: str | None = None
    oauth2: OAuth2Flow | None = None
    redirect_hosts: tuple[str, ...] = ()
    token_variable: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """Limits that select messages for validation. None is no limit. The same seed selects the same messages."""

    max_messages: int | None = None
    percent: int = 100
    since_seconds: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError if a limit is invalid."""
        if not 1 <= self.percent <= 100:  # noqa: PLR2004  # percent
            raise ValueError("percent must be from 1 to 100")
        if self.max_messages is not None and self.max_messages < 1:
            raise ValueError("maxMessages must be 1 or more")
        if self.since_seconds is not None and self.since_seconds < 1:
            raise ValueError("sinceSeconds must be 1 or more")
        if not 0 <= self.seed < 1 << 63:
            raise ValueError("seed must be from 0 to 2^63 - 1")

    def since(self, started: int) -> int | None:
        """Return the earliest publish time for a run that began at `started`, or None for all messages.

        Both are milliseconds since 1970.
        """
        return None if self.since_seconds is None else started - 1000 * self.since_seconds


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Maximum share of invalid messages in a run that passes."""

    max_invalid_per_million: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError if the share is invalid."""
        if not 0 <= self.max_invalid_per_million <= _MILLION:
            raise ValueError("maxInvalidPerMillion must be from 0 to 1,000,000")

    def takes(self, invalid: int, messages: int) -> bool:
        """Return True if this number of invalid messages among `messages` is tolerated."""
        return invalid * _MILLION <= self.max_invalid_per_million * messages


@dataclass(frozen=True, slots=True)
class ValidationRequest:
    """Request to read retained messages with `candidate`.

    `versions` are the schemas that wrote the messages, by schema version. Schemas are as the broker stores them. Either
    `files` or `pulsar` is the source. `topic` is its full name, or the name of the files in the report.

    With `executors`, that many Spark executors judge. Without, the run judges by itself. If that would take one pod
    `spark_from_milliseconds` or more, it ends with the number of executors that it needs, `max_executors` at most.
    `event_log` is the URI of a folder for Spark's event logs, or None.
    """

    candidate: SchemaInfo
    versions: Mapping[int, SchemaInfo]
    topic: str
    files: FileSource | None = None
    pulsar: PulsarSource | None = None
    pulsar_version: PulsarVersion = PulsarVersion.V4_0
    sample: Sample = Sample()
    tolerance: Tolerance = Tolerance()
    include_values: bool = False
    executors: int = 0
    max_executors: int = 0
    spark_from_milliseconds: int = round(1000 * SPARK_FROM_SECONDS)
    event_log: str | None = None
    format: int = FORMAT
    labels: Mapping[str, str] = field(default_factory=lambda: _NO_NAMES)
    """Other parts of the request's identity, for example the annotation `revalidate`. The report shows them."""

    def __post_init__(self) -> None:
        """Raise ValueError if the request is invalid."""
        if self.format != FORMAT:
            raise ValueError(f"format {self.format} is not known here; this program reads format {FORMAT}")
        if (self.files is None) == (self.pulsar is None):
            raise ValueError("one source is needed: files or pulsar")
        if not 0 <= self.executors <= MOST_EXECUTORS or not 0 <= self.max_executors <= MOST_EXECUTORS:
            raise ValueError(f"executors and maxExecutors must be from 0 to {MOST_EXECUTORS}")

    @property
    def text(self) -> bytes:
        """The JSON, the same bytes for the same request."""
        return json.dumps(encode(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
            errors="surrogatepass"
        )

    def pack(self) -> "Packed":
        """Return the request as a Job mounts it. Raises InvalidRequestError if it is too large for a run."""
        text = self.text
        check_size(len(text))
        # takes 17 MiB of memory; preset 6 would take 94 MiB of the operator's
        return Packed(_hash(text), lzma.compress(text, preset=2))

    @property
    def sha256(self) -> str:
        """Hash of the JSON: `sha256:` and 64 hex digits. A verdict names it."""
        return _hash(self.text)


@dataclass(frozen=True, slots=True)
class Packed:
    """Request as a Job mounts it, in one part or several: the hash and the xz-compressed JSON."""

    sha256: str
    content: bytes


def check_size(size: int) -> None:
    """Raise InvalidRequestError if this number of bytes of schemas, or of a request, is too large for a run."""
    if size >= MAX_BYTES:
        raise InvalidRequestError(
            f"its versions have more than {MAX_BYTES >> 20} MiB of schemas, too much for a run to read: set "
            "validation.mode Off for this topic"
        )


def _hash(text: bytes) -> str:
    return "sha256:" + hashlib.sha256(text).hexdigest()


def read(content: bytes) -> ValidationRequest:
    """Return the request from JSON or its packed form. Raises InvalidRequestError with the fault."""
    text = _unpacked(content) if content.startswith(b"\xfd7zXZ\0") else content
    try:
        members = json.loads(text.decode(errors="surrogatepass"))
    except (ValueError, RecursionError):
        raise InvalidRequestError("the request is not JSON") from None
    try:
        return decode(ValidationRequest, members, "request")
    except StalledError as error:
        raise InvalidRequestError(error.message) from None


def _unpacked(content: bytes) -> bytes:
    unpacking = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_BYTES)
    try:
        text = unpacking.decompress(content, max_length=MAX_BYTES)
    except lzma.LZMAError as error:
        raise InvalidRequestError(f"the request cannot be unpacked: {error}") from None
    if not unpacking.eof:
        raise InvalidRequestError("the request is not whole, or larger than 256 MiB")
    return text
