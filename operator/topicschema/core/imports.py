"""Conversion of a broker's version to an entry of the history: its fingerprint, origin and flaw.

A broker may store what the operator would refuse to upload: texts that do not parse, defaults that do not fit. Such a
version gets an entry with its flaw. `verdict` and `judging.judge` decide what a broker returns because of it.
"""

from dataclasses import replace

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import Flaw, Origin, VersionEntry, source_mark
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import AVRO_TEXTS, PulsarVersion, SchemaInfo, fingerprint_of_bytes


def entry_of(
    version: RemoteVersion,
    pulsar_version: PulsarVersion,
    candidate: SchemaInfo | None = None,
    source_hash: str | None = None,
) -> VersionEntry:
    """Return the entry. Its origin is Spec if it is the candidate, which may be compiled from sources of that hash."""
    info = version.info
    content_hash = info.content_hash
    is_ours = candidate is not None and candidate.content_hash == content_hash
    fingerprint, flaw = _read(info, pulsar_version)
    return VersionEntry(
        schema_version=version.schema_version,
        type=info.type,
        fingerprint=fingerprint,
        content_hash=content_hash,
        origin=Origin.SPEC if is_ours else Origin.BROKER,
        registered_at=version.registered_at,
        source_mark=source_mark(source_hash) if is_ours and source_hash is not None else "",
        pulsar_version=pulsar_version if info.type in AVRO_TEXTS else PulsarVersion.V4_0,
        flaw=flaw,
    )


def read_again(entry: VersionEntry, info: SchemaInfo, pulsar_version: PulsarVersion) -> VersionEntry:
    """Return the entry as that Pulsar version's parser reads the version. Its origin and its time stay the same."""
    fingerprint, flaw = _read(info, pulsar_version)
    return replace(entry, fingerprint=fingerprint, flaw=flaw, pulsar_version=pulsar_version)


def _read(info: SchemaInfo, pulsar_version: PulsarVersion) -> tuple[str, Flaw]:
    if info.type not in formats.FORMATS:
        return fingerprint_of_bytes(info.type, info.schema), Flaw.NONE
    try:
        return formats.parse(info, pulsar_version).fingerprint, Flaw.NONE
    except InvalidSchemaError:
        pass
    try:
        return formats.parse(info, pulsar_version, validate_defaults=False).fingerprint, Flaw.INVALID_DEFAULT
    except InvalidSchemaError:
        return fingerprint_of_bytes(info.type, info.schema), Flaw.UNPARSABLE
