"""A version that a broker gave, as an entry of the record: what it equals, where it is from, what is wrong with it.

A broker may hold what no upload would get past us: texts that do not parse, defaults that do not fit. Such a version is
put on record as what it is. What a broker answers because of it is `verdict`'s and `judging.judge`'s matter.
"""

from dataclasses import replace

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import Flaw, Origin, VersionEntry, source_mark
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import AVRO_TEXTS, PulsarLine, SchemaInfo, fingerprint_of_bytes


def entry_of(
    version: RemoteVersion, line: PulsarLine, candidate: SchemaInfo | None = None, source_hash: str | None = None
) -> VersionEntry:
    """The entry; its origin is Spec where it is the candidate, made from sources of that hash if it has any."""
    info = version.info
    content_hash = info.content_hash
    is_ours = candidate is not None and candidate.content_hash == content_hash
    fingerprint, flaw = _read(info, line)
    return VersionEntry(
        schema_version=version.schema_version,
        type=info.type,
        fingerprint=fingerprint,
        content_hash=content_hash,
        origin=Origin.SPEC if is_ours else Origin.BROKER,
        registered_at=version.registered_at,
        source_mark=source_mark(source_hash) if is_ours and source_hash is not None else "",
        line=line if info.type in AVRO_TEXTS else PulsarLine.V4_0,
        flaw=flaw,
    )


def read_again(entry: VersionEntry, info: SchemaInfo, line: PulsarLine) -> VersionEntry:
    """The entry of a version on record as that line's parser reads it; where it is from, and since when, stays."""
    fingerprint, flaw = _read(info, line)
    return replace(entry, fingerprint=fingerprint, flaw=flaw, line=line)


def _read(info: SchemaInfo, line: PulsarLine) -> tuple[str, Flaw]:
    if info.type not in formats.FORMATS:
        return fingerprint_of_bytes(info.type, info.schema), Flaw.NONE
    try:
        return formats.parse(info, line).fingerprint, Flaw.NONE
    except InvalidSchemaError:
        pass
    try:
        return formats.parse(info, line, validate_defaults=False).fingerprint, Flaw.INVALID_DEFAULT
    except InvalidSchemaError:
        return fingerprint_of_bytes(info.type, info.schema), Flaw.UNPARSABLE
