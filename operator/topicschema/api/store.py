"""The store on the wire: three internal kinds in the operator's own namespace, and their conversion to core's types.

SchemaHistory is one topic's list of versions, SchemaVersion one immutable payload. PulsarNamespaceClaim names the
policy that governs a Pulsar namespace. All data are in spec, because a backup drops status. Reads trust nothing: they
derive the names from the contents and compare them. `storage.kubernetes` reads and writes these objects.
"""

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from topicschema.api import kinds
from topicschema.api.kinds import Kind
from topicschema.api.store_kinds import (
    FORMAT,
    DeletedVersionsSpec,
    OwnerReference,
    PulsarNamespaceClaim,
    PulsarNamespaceClaimSpec,
    SchemaHistory,
    SchemaHistorySpec,
    SchemaVersion,
    SchemaVersionSpec,
)
from topicschema.api.store_settings import (
    namespace_settings_from_wire,
    namespace_settings_to_wire,
    topic_settings_from_wire,
    topic_settings_to_wire,
)
from topicschema.api.wire import decode, encode
from topicschema.core.errors import StalledError
from topicschema.core.history import DeletedVersions, Flaw, History, NumberedBy, Origin, Owner, VersionEntry
from topicschema.core.reasons import Reason
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey

PULSAR_NAMESPACE_LABEL = "topicschema.io/pulsar-namespace"
"""On a SchemaHistory: the name of its Pulsar namespace's claim, by which a policy selects its topics' histories."""
TOPIC_ANNOTATION = "topicschema.io/topic"
"""On a SchemaHistory: CLUSTER/TENANT/NAMESPACE/TOPIC, so that a list of metadata has the topics."""
HISTORY_LABEL = "topicschema.io/history"
"""On a SchemaVersion: the name of the SchemaHistory it belongs to."""

_MAX_SCHEMA_BYTES = 8 * 1024 * 1024  # more than any API server stores, even compressed; bounds what is inflated on read
_HASH_DIGITS = 12
_OBJECT_BYTES = 1024  # names, labels, annotations and managed fields of an object
_WORDS = {"SchemaHistory": "history", "SchemaVersion": "payload", "PulsarNamespaceClaim": "claim"}

R = TypeVar("R", SchemaHistory, SchemaVersion, PulsarNamespaceClaim)


def history_name(key: TopicKey) -> str:
    """Return the name of the topic's SchemaHistory: `h-` and 40 hex digits of the sha256 over its four parts."""
    return "h-" + _digest(key.registry, key.topic.tenant, key.topic.namespace, key.topic.local_name)


def claim_name(key: PulsarNamespaceKey) -> str:
    """Return the name of the namespace's PulsarNamespaceClaim: `c-` and 40 hex digits of the sha256 over its parts."""
    return "c-" + _digest(key.registry, key.tenant, key.namespace)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def topic_of(metadata: Mapping[str, Any]) -> TopicKey | None:
    """Return the topic in the annotation of a SchemaHistory, or None if its name does not belong to it."""
    cluster, *parts = (metadata.get("annotations") or {}).get(TOPIC_ANNOTATION, "").rsplit("/", 3)
    if len(parts) != 3:  # noqa: PLR2004 - tenant, namespace and local name
        return None
    key = TopicKey(cluster, Topic(*parts))
    return key if history_name(key) == metadata["name"] else None


def history_to_wire(
    history: History, *, namespace: str, resource_version: str | None, payload_bytes: int = 0
) -> dict[str, Any]:
    """Return the SchemaHistory object. `resource_version` is None for one that is to be created."""
    key, latest = history.key, history.latest
    pulsar_namespace = key.namespace_key
    spec = SchemaHistorySpec(
        format=FORMAT,
        registry=key.registry,
        pulsar_namespace=pulsar_namespace.pulsar_namespace,
        local_name=key.topic.local_name,
        claim=_reference(history.claim),
        incarnation=history.incarnation,
        latest_schema_version=None if latest is None else latest.schema_version,
        versions=tuple(map(_pack, history.entries)),
        payload_bytes=payload_bytes or None,
        # Only what says something: older objects are written back as they were.
        numbered_by=None if history.numbered_by is NumberedBy.OPERATOR else history.numbered_by,
        unconfirmed=history.unconfirmed or None,
        topic_settings=topic_settings_to_wire(history.topic_settings),
        deleted=tuple(
            DeletedVersionsSpec(incarnation=each.incarnation, versions=tuple(map(_pack, each.entries)))
            for each in history.deleted
        )
        or None,
    )
    metadata = {
        "name": history_name(key),
        "namespace": namespace,
        "labels": {PULSAR_NAMESPACE_LABEL: claim_name(pulsar_namespace)},
        "annotations": {TOPIC_ANNOTATION: f"{key.registry}/{key.topic}"},
        "resourceVersion": resource_version,
    }
    return _object(kinds.SCHEMA_HISTORY, metadata, spec)


def history_from_wire(wire: object) -> History:
    """Return the history in a SchemaHistory object. Raises StalledError(HistoryDamaged) if it contradicts itself."""
    stored = _read(SchemaHistory, wire)
    spec = stored.spec
    pulsar_namespace = _read_pulsar_namespace(stored, spec.registry, spec.pulsar_namespace)
    topic = Topic(pulsar_namespace.tenant, pulsar_namespace.namespace, spec.local_name)
    key = TopicKey(spec.registry, topic)
    _check_name(stored, history_name(key))
    entries = _entries(stored, "versions", spec.versions)
    deleted = tuple(
        DeletedVersions(each.incarnation, _entries(stored, f"deleted[{position}].versions", each.versions))
        for position, each in enumerate(spec.deleted or ())
    )
    return History(
        key,
        _owner(spec.claim),
        spec.incarnation,
        entries,
        spec.numbered_by or NumberedBy.OPERATOR,
        topic_settings_from_wire(spec.topic_settings),
        _unconfirmed(stored, entries),
        deleted,
    )


def payload_bytes(wire: Mapping[str, Any]) -> int:
    """Return the bytes of all payloads that were ever stored for the topic of a SchemaHistory object."""
    number = wire["spec"].get("payloadBytes")
    return number if isinstance(number, int) else 0


def used_bytes(wire: Mapping[str, Any]) -> int:
    """Return the bytes that a SchemaHistory object takes with its payloads, approximately."""
    spec = wire["spec"]
    lines = [*(spec.get("versions") or ()), *(line for each in spec.get("deleted") or () for line in each["versions"])]
    return _OBJECT_BYTES + sum(map(len, lines)) + payload_bytes(wire)


def version_bytes(wire: Mapping[str, Any]) -> int:
    """Return the bytes that a SchemaVersion object takes, approximately."""
    spec = wire["spec"]
    properties = sum(len(name) + len(value) for name, value in (spec.get("properties") or {}).items())
    return _OBJECT_BYTES + len(spec["payload"]) + properties


def _entries(stored: SchemaHistory, path: str, texts: Sequence[str]) -> tuple[VersionEntry, ...]:
    entries = tuple(_unpack(stored, f"{path}[{position}]", text) for position, text in enumerate(texts))
    for earlier, later in pairwise(entries):
        if earlier.schema_version >= later.schema_version:
            raise _damaged(stored, f"version {later.schema_version} stands after version {earlier.schema_version}")
    return entries


def _unconfirmed(stored: SchemaHistory, entries: tuple[VersionEntry, ...]) -> int:
    unconfirmed = stored.spec.unconfirmed or 0
    if not 0 <= unconfirmed <= len(entries):
        raise _damaged(stored, f"it says that {unconfirmed} of its {len(entries)} versions are unconfirmed")
    return unconfirmed


def version_name(key: TopicKey, incarnation: int, schema_version: int, content_hash: str) -> str:
    """Return the name of the SchemaVersion with that payload. Two payloads of one number never have the same name."""
    return _version_name(history_name(key), incarnation, schema_version, content_hash)


def version_to_wire(
    history: History, info: SchemaInfo, source_hash: str | None = None, *, namespace: str
) -> dict[str, Any]:
    """Return the SchemaVersion object to create for the newest entry. Raises StalledError(SchemaTooLarge) above 8 MiB.

    The compressed bytes may differ between builds of zlib: compare the results of `version_from_wire`, never the
    objects.
    """
    if len(info.schema) > _MAX_SCHEMA_BYTES:
        raise StalledError(Reason.SCHEMA_TOO_LARGE, f"the schema has {len(info.schema)} bytes, more than can be stored")
    key, incarnation, number = history.key, history.incarnation, history.entries[-1].schema_version
    spec = SchemaVersionSpec(
        format=FORMAT,
        history=history_name(key),
        incarnation=incarnation,
        schema_version=number,
        type=info.type,
        properties=info.properties,
        content_hash=info.content_hash,
        source_hash=source_hash,
        payload=base64.b64encode(zlib.compress(info.schema)).decode(),
    )
    name = version_name(key, incarnation, number, info.content_hash)
    metadata = {"name": name, "namespace": namespace, "labels": {HISTORY_LABEL: history_name(key)}}
    return _object(kinds.SCHEMA_VERSION, metadata, spec)


def version_from_wire(wire: object) -> SchemaInfo:
    """Return the schema in a SchemaVersion object. Raises StalledError(HistoryDamaged) if its name or hash differs."""
    stored = _read(SchemaVersion, wire)
    spec = stored.spec
    _check_name(stored, _version_name(spec.history, spec.incarnation, spec.schema_version, spec.content_hash))
    info = SchemaInfo(spec.type, _inflate(stored), spec.properties)
    if info.content_hash != spec.content_hash:
        raise _damaged(stored, "its payload does not have its content hash")
    return info


@dataclass(frozen=True, slots=True)
class ClaimContent:
    """The content of a PulsarNamespaceClaim.

    `owner` is the policy that owns it, or None. `original` has each setting of the Pulsar namespace before its first
    write, None until then; `managed` are the settings that were written. `address` is that of the broker at which the
    owner governs, "" without one.
    """

    owner: Owner | None = None
    original: NamespaceSettings | None = None
    managed: tuple[Setting, ...] = ()
    address: str = ""


def claim_to_wire(
    key: PulsarNamespaceKey, claim: ClaimContent, *, namespace: str, resource_version: str | None
) -> dict[str, Any]:
    """Return the PulsarNamespaceClaim object. `resource_version` is None for one that is to be created."""
    spec = PulsarNamespaceClaimSpec(
        format=FORMAT,
        registry=key.registry,
        pulsar_namespace=key.pulsar_namespace,
        owner=_reference(claim.owner),
        address=claim.address or None,
        original=namespace_settings_to_wire(claim.original),
        managed=claim.managed,
    )
    metadata = {"name": claim_name(key), "namespace": namespace, "resourceVersion": resource_version}
    return _object(kinds.PULSAR_NAMESPACE_CLAIM, metadata, spec)


def claim_from_wire(wire: object) -> ClaimContent:
    """Return the content of the claim. Raises StalledError(HistoryDamaged) as above."""
    stored = _read(PulsarNamespaceClaim, wire)
    spec = stored.spec
    key = _read_pulsar_namespace(stored, spec.registry, spec.pulsar_namespace)
    _check_name(stored, claim_name(key))
    return ClaimContent(
        _owner(spec.owner), namespace_settings_from_wire(spec.original), spec.managed, spec.address or ""
    )


# One version in a history is one line of text, because 10,000 of them must fit into one object (140 bytes each):
#     NUMBER TYPE ORIGIN TIME FINGERPRINT CONTENT_HASH [FLAG] [LINE] [SOURCES]
#     3 AVRO S 20261121T053000Z 47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU 47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU
# The hashes are sha256 in unpadded base64url, that of sources its first 9 letters. No Pulsar version: 4.0.
# Flags: T a tombstone, U unparsable, D an invalid default.
_ENTRY = re.compile(
    r"(\d{1,9}) ([A-Z0-9_]+) ([SBR]) (\d{8}T\d{6}Z) ([\w-]{43}) ([\w-]{43})(?: ([TUD]))?(?: (\d\.\d))?(?: ([\w-]{9}))?",
    re.ASCII,
)
_ORIGINS = {"S": Origin.SPEC, "B": Origin.BROKER, "R": Origin.REGISTRY}
_FLAWS = {"U": Flaw.UNPARSABLE, "D": Flaw.INVALID_DEFAULT}
_FLAGS: Mapping[Flaw, str] = {flaw: f" {letter}" for letter, flaw in _FLAWS.items()}
_PULSAR_VERSIONS = frozenset(PulsarVersion)
_LETTERS: Mapping[Origin, str] = {origin: letter for letter, origin in _ORIGINS.items()}


def _pack(entry: VersionEntry) -> str:
    time = entry.registered_at.replace("-", "").replace(":", "")
    hashes = f"{_pack_hash(entry.fingerprint)} {_pack_hash(entry.content_hash)}"
    flags = " T" if entry.is_tombstone else _FLAGS.get(entry.flaw, "")
    flags += f" {entry.pulsar_version}" if entry.pulsar_version is not PulsarVersion.V4_0 else ""
    flags += f" {entry.source_mark}" if entry.source_mark else ""
    text = f"{entry.schema_version} {entry.type.value} {_LETTERS[entry.origin]} {time} {hashes}{flags}"
    if _ENTRY.fullmatch(text) is None:
        raise ValueError(f"cannot be stored: version {entry.schema_version} registered at {entry.registered_at!r}")
    return text


def _unpack(stored: SchemaHistory, path: str, text: str) -> VersionEntry:
    match = _ENTRY.fullmatch(text)
    if (
        match is None
        or match[2] not in SchemaType.__members__
        or (match[8] or PulsarVersion.V4_0) not in _PULSAR_VERSIONS
    ):
        raise _damaged(stored, f"spec.{path} cannot be read; a newer release may have written it")
    number, kind, origin, time, fingerprint, content_hash, flag, pulsar_version, source_mark = match.groups()
    return VersionEntry(
        schema_version=int(number),
        type=SchemaType[kind],
        fingerprint=_unpack_hash(fingerprint),
        content_hash=_unpack_hash(content_hash),
        origin=_ORIGINS[origin],
        registered_at=f"{time[:4]}-{time[4:6]}-{time[6:11]}:{time[11:13]}:{time[13:]}",
        is_tombstone=flag == "T",
        source_mark=source_mark or "",
        pulsar_version=PulsarVersion(pulsar_version or PulsarVersion.V4_0),
        flaw=_FLAWS.get(flag, Flaw.NONE),
    )


def _pack_hash(digest: str) -> str:
    return base64.urlsafe_b64encode(bytes.fromhex(digest.removeprefix("sha256:"))).decode().rstrip("=")


def _unpack_hash(text: str) -> str:
    return "sha256:" + base64.urlsafe_b64decode(text + "=").hex()


def _version_name(history: str, incarnation: int, schema_version: int, content_hash: str) -> str:
    return f"{history}-{incarnation}-{schema_version}-{content_hash.removeprefix('sha256:')[:_HASH_DIGITS]}"


def _inflate(stored: SchemaVersion) -> bytes:
    inflater = zlib.decompressobj()
    try:
        content = inflater.decompress(base64.b64decode(stored.spec.payload, validate=True), _MAX_SCHEMA_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        raise _damaged(stored, "its payload cannot be inflated") from None
    if not inflater.eof:
        raise _damaged(stored, "its payload is cut short, or larger than anything that was ever written")
    return content


def _read(cls: type[R], wire: object) -> R:
    try:
        stored = decode(cls, wire)
    except StalledError as error:
        raise StalledError(
            Reason.HISTORY_DAMAGED, f"a {_WORDS[cls.__name__]} cannot be read: {error.message}"
        ) from None
    if stored.spec.format != FORMAT:
        raise _damaged(stored, f"its format is {stored.spec.format}; this release reads {FORMAT}")
    return stored


def _read_pulsar_namespace(stored: R, registry: str, pulsar_namespace: str) -> PulsarNamespaceKey:
    try:
        return PulsarNamespaceKey.parse(registry, pulsar_namespace)
    except StalledError as error:
        raise _damaged(stored, error.message) from None


def _check_name(stored: R, name: str) -> None:
    if stored.metadata.name != name:
        raise _damaged(stored, "its name does not belong to its contents")


def missing_version(history: str, version: str) -> StalledError:
    """Return the error for a history that names a SchemaVersion that is not there."""
    return StalledError(Reason.HISTORY_DAMAGED, f"the history {history!r}: its payload {version} is missing")


def _damaged(stored: R, why: str) -> StalledError:
    what = _WORDS[type(stored).__name__]
    return StalledError(Reason.HISTORY_DAMAGED, f"the {what} {stored.metadata.name[:80]!r}: {why}")


def _reference(owner: Owner | None) -> OwnerReference | None:
    return None if owner is None else OwnerReference(namespace=owner.namespace, name=owner.name, uid=owner.uid)


def _owner(reference: OwnerReference | None) -> Owner | None:
    return None if reference is None else Owner(reference.namespace, reference.name, reference.uid)


def _object(kind: Kind, metadata: Mapping[str, Any], spec: Any) -> dict[str, Any]:
    present = {key: value for key, value in metadata.items() if value is not None}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": present, "spec": encode(spec)}
