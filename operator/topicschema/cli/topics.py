"""A topic in a cluster: its TopicSchema, its versions, and the schema of each.

The operator's record has them all, for those who may read it. Other users have the lines of the status. Their texts are
those of a registry's REST API, or of the spec if it is the version (docs/decisions/0029-reads-of-tenants.md).
"""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from topicschema import protoc
from topicschema.api import GROUP, store
from topicschema.api.kinds import (
    NAMESPACE_SCHEMA_POLICY,
    SCHEMA_HISTORY,
    SCHEMA_REGISTRY,
    SCHEMA_VERSION,
    TOPIC_SCHEMA,
    Kind,
)
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec, TopicSchemaStatus
from topicschema.api.wire import decode
from topicschema.broker import wire as rest
from topicschema.cli.check.excerpt import printable_lines
from topicschema.cli.exits import INCOMPATIBLE, NO_ANSWER
from topicschema.cli.inputs import files
from topicschema.cli.inputs.cluster import Cluster, ClusterError, NoRightError, connect, demand_token
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.record import Object
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError, StalledError, TopicSchemaError
from topicschema.core.formats import key_value
from topicschema.core.history import History, VersionEntry
from topicschema.core.schemas import NEWEST, PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey
from topicschema.judging import schema_source

_SECONDS: Final = 30.0
_URL: Final = "TOPICSCHEMA_REGISTRY_URL"
_KINDS: Final = ("tsc", "topicschema", "topicschemas", f"topicschema.{GROUP}", f"topicschemas.{GROUP}")
"""Names of the kind that kubectl takes and prints before a slash and the name."""
_Read = Callable[[Kind, str], Object | None]


class AbsentError(Exception):
    """A topic, or a version of it, that does not exist or that the user cannot read."""


@dataclass(frozen=True, slots=True)
class ClusterTopic:
    """A topic. `resource` is its TopicSchema, `history` its history in the record if the user may read it, or None.

    `entries` are its versions, oldest first, of the newest 100 if there is no history.
    """

    topic: Topic
    resource: TopicSchema | None
    history: History | None
    entries: Sequence[VersionEntry]
    _text: Callable[["ClusterTopic", int, VersionEntry | None], SchemaInfo]

    @property
    def label(self) -> str:
        """The name of the TopicSchema as `namespace/name`, or the topic."""
        if self.resource is None:
            return str(self.topic)
        return f"{self.resource.metadata.namespace}/{self.resource.metadata.name}"

    @property
    def name(self) -> str:
        """The name of the TopicSchema as `kubectl get -o name` has it, or the topic."""
        if self.resource is None:
            return str(self.topic)
        return f"{TOPIC_SCHEMA.name.lower()}.{GROUP}/{self.resource.metadata.name}"

    @property
    def status(self) -> TopicSchemaStatus:
        """The status, empty without a TopicSchema."""
        return TopicSchemaStatus() if self.resource is None else self.resource.status

    @property
    def incarnation(self) -> int | None:
        """The numbering that the versions belong to."""
        return self.status.incarnation if self.history is None else self.history.incarnation

    @property
    def versions(self) -> list[VersionEntry]:
        """The versions that have a schema."""
        return [each for each in self.entries if not each.is_tombstone]

    @property
    def latest(self) -> int | None:
        """The number of the newest version, None if there is none or if it was deleted."""
        if self.history is None:
            return self.status.latest_schema_version
        return None if self.history.latest is None else self.history.latest.schema_version

    @property
    def is_observed(self) -> bool:
        """True if the status is that of the current spec."""
        return self.resource is not None and self.status.observed_generation == self.resource.metadata.generation

    @property
    def spec_version(self) -> int | None:
        """The number of the version that is the schema of the spec, None if the controller has not registered it."""
        return self.status.schema_version if self.is_observed else None

    def entry(self, number: int) -> VersionEntry | None:
        """Return the line of a version, or None for one before the newest 100 of a status.

        Raises AbsentError if there is no such version, or if it was deleted.
        """
        entry = next((each for each in self.entries if each.schema_version == number), None)
        if entry is not None and entry.is_tombstone:
            raise AbsentError(f"version {number} of {self.label} is a deletion, which has no schema")
        is_earlier = self.history is None and self.entries and number < self.entries[0].schema_version
        if entry is None and not is_earlier:
            has = f"it has {_range(self.entries)}" if self.entries else "it has no version yet"
            raise AbsentError(f"{self.label} has no version {number}: {has}")
        return entry

    def no_version(self) -> AbsentError:
        """Return the error about a topic without a version that counts: why, and what to do."""
        if self.versions:
            listed = "topicschema history lists them, and topicschema get --version N prints one"
            return AbsentError(f"the versions of {self.label} were deleted: {listed}")
        if self.resource is None:
            remedy = "a new TopicSchema of the topic begins with version 0 again"
            return AbsentError(f"the versions of {self.label} were deleted with its TopicSchema: {remedy}")
        return AbsentError(
            f"{self.label} has no version yet: topicschema why {self.resource.metadata.name} has the cause"
        )

    def info(self, number: int) -> SchemaInfo:
        """Return the schema of a version, as a broker stores it. Raises AbsentError, ClusterError, TopicSchemaError."""
        return self._text(self, number, self.entry(number))


def text_of(info: SchemaInfo) -> str:
    """Return the text of a schema as over REST: that of a pair has both parts."""
    if info.type is SchemaType.KEY_VALUE:
        return key_value.text_of(info.schema)
    return info.schema.decode(errors="replace")


def run(options: Namespace, command: Callable[[ClusterTopic, Namespace], int]) -> int:
    """Run a command about the topic that the options name. Return its exit code, or 1 or 3 with an error."""
    try:
        with connected(options) as topic:
            return command(topic, options)
    except AbsentError as error:
        code, why = INCOMPATIBLE, str(error)
    except (ClusterError, TopicSchemaError) as error:
        code, why = NO_ANSWER, str(error)
    print(f"topicschema {options.command}: {printable_lines(why)}", file=sys.stderr)
    return code


@contextmanager
def connected(options: Namespace) -> Iterator[ClusterTopic]:
    """Yield the topic that the options name. Raises AbsentError if it has neither a TopicSchema nor a history."""
    with ExitStack() as stack:
        cluster = stack.enter_context(connect(options.context))
        namespace = options.namespace or cluster.namespace
        reader = _Reader(cluster, namespace, _record(stack, cluster, options), options)
        yield reader.topic(options.topic)


def _absent(name: str, namespace: str) -> AbsentError:
    what, deleted = f"TopicSchema {name}", "; after a deletion, the topic's name finds the versions"
    if _is_topic(name):
        what, deleted = f"TopicSchema of {name}", ""
    return AbsentError(
        f"there is no {what} in the namespace {namespace}; name another one with -n, or list all with "
        f"kubectl get topicschemas --all-namespaces{deleted}"
    )


def _is_topic(name: str) -> bool:
    """Return True for the name of a topic, also for TENANT/NAMESPACE/TOPIC as the commands print it."""
    return "://" in name or name.count("/") == 2  # noqa: PLR2004 - between three parts


def _resource(cluster: Cluster, namespace: str, name: str) -> Object | None:
    if not name:
        raise UsageError("the name is empty: is a variable unset?")
    if not _is_topic(name):
        kind, _, own = name.rpartition("/")
        return cluster.get(TOPIC_SCHEMA, own if kind in _KINDS else name, namespace)
    own = name.rpartition("://")[2]  # the domains share one history
    listed = cluster.list(TOPIC_SCHEMA, namespace)
    return next((each for each in listed if each["spec"].get("topic", "").rpartition("://")[2] == own), None)


def _record(stack: ExitStack, cluster: Cluster, options: Namespace) -> _Read:
    """Return the function that reads an object of the operator's record."""
    if any(os.environ.get(f"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL{end}") for end in ("", "_FILE")):
        try:
            from topicschema.cli import record_database  # noqa: PLC0415 - an install may lack the packages
        except ModuleNotFoundError as error:
            raise UsageError(f"{error}: pip install 'topicschema[postgresql]'") from None
        return stack.enter_context(record_database.connect()).get
    return partial(cluster.get, namespace=options.operator_namespace)


@dataclass(frozen=True, slots=True)
class _Reader:
    cluster: Cluster
    namespace: str
    record: _Read
    options: Namespace

    def topic(self, name: str) -> ClusterTopic:
        wire = _resource(self.cluster, self.namespace, name)
        resource = None if wire is None else decode(TopicSchema, wire)
        try:
            full = name if "://" in name else f"persistent://{name}"
            topic = Topic.parse(full if resource is None else resource.spec.topic)
        except StalledError as error:
            raise (_absent(name, self.namespace) if not _is_topic(name) else UsageError(error.message)) from None
        history = self._history(topic, resource)
        if resource is None:
            if history is None:
                raise _absent(name, self.namespace)
            resource = self._owner(history)
        if history is not None:
            return ClusterTopic(topic, resource, history, history.entries, partial(self._recorded, history))
        entries = tuple(
            VersionEntry(each.schema_version, each.type, each.fingerprint, "", each.origin, each.registered_at)
            for each in (resource.status.versions if resource else ())
        )
        return ClusterTopic(topic, resource, None, entries, self._served)

    def _history(self, topic: Topic, resource: TopicSchema | None) -> History | None:
        """Return the topic's history, or None if there is none or the user may not read it."""
        try:
            wires = (
                self.record(SCHEMA_HISTORY, store.history_name(TopicKey(registry, topic)))
                for registry in self._registries(topic, resource)
            )
            histories = [store.history_from_wire(each) for each in wires if each is not None]
        except NoRightError:
            return None
        if resource is not None:  # one that lacks versions is of a store that the operator no longer uses
            status, uid = resource.status, resource.metadata.uid
            histories = [each for each in histories if not each.lacks(status.incarnation, status.version_count)]
            own = [each for each in histories if each.claim is not None and each.claim.uid == uid]
            histories = own or histories
        if len(histories) > 1:
            names = " and ".join(each.key.registry for each in histories)
            raise AbsentError(f"the registries {names} have histories of {topic}; name its TopicSchema")
        return histories[0] if histories else None

    def _owner(self, history: History) -> TopicSchema | None:
        """Return the TopicSchema that manages the topic in another namespace, or None if the user may not read it."""
        if history.claim is None:
            return None
        with suppress(NoRightError):
            wire = self.cluster.get(TOPIC_SCHEMA, history.claim.name, history.claim.namespace)
            if wire is not None and wire["metadata"]["uid"] == history.claim.uid:
                return decode(TopicSchema, wire)
        return None

    def _registries(self, topic: Topic, resource: TopicSchema | None) -> list[str]:
        """Return the names of the registries that may have the topic."""
        policies = () if resource is None else self.cluster.list(NAMESPACE_SCHEMA_POLICY, self.namespace)
        specs = (each["spec"] for each in policies)
        governing = {
            str(each.get("registry")) for each in specs if each.get("pulsarNamespace") == topic.pulsar_namespace
        }
        return sorted(governing or (each["metadata"]["name"] for each in self.cluster.list(SCHEMA_REGISTRY)))

    def _recorded(self, history: History, _: ClusterTopic, number: int, entry: VersionEntry | None) -> SchemaInfo:
        content_hash = "" if entry is None else entry.content_hash  # a history has the lines of all versions
        name = store.version_name(history.key, history.incarnation, number, content_hash)
        wire = self.record(SCHEMA_VERSION, name)
        if wire is None:
            raise store.missing_version(store.history_name(history.key), name)
        return store.version_from_wire(wire)

    def _served(self, topic: ClusterTopic, number: int, entry: VersionEntry | None) -> SchemaInfo:
        """Return the schema of a version for a user who may not read the record."""
        url = self.options.registry_url or os.environ.get(_URL)
        if url:
            info = self._of_registry(topic, number, url)
        elif topic.resource is not None and entry is not None and number == topic.spec_version:
            info = _of_spec(topic.resource.spec, entry)
            note = "this is the text of the spec; the registered one may differ in layout, docs and properties"
            print(f"topicschema {self.options.command}: {note}", file=sys.stderr)
        else:
            raise AbsentError(
                f"the text of version {number} of {topic.label} is not readable in the operator's record (namespace "
                f"{self.options.operator_namespace}): name the registry's URL with --registry-url or {_URL}"
            )
        if entry is not None and not _is_version(info, entry):
            raise AbsentError(
                f"the text differs from version {number} of {topic.label}, whose fingerprint is {entry.fingerprint}: "
                "is this the topic's registry?"
            )
        return info

    def _of_registry(self, topic: ClusterTopic, number: int, url: str) -> SchemaInfo:
        _demand_url(url)
        address = url.rstrip("/") + rest.schemas_path(topic.topic, f"schema/{number}")
        try:
            answer = urllib3.request(
                "GET", address, headers=self._headers(url), timeout=_SECONDS, retries=False, redirect=False
            )
        except (HTTPError, ValueError) as error:
            raise ClusterError(f"the registry at {url} does not answer: {error}") from None
        reason = _reason(answer)
        if answer.status == HTTPStatus.NOT_FOUND:
            raise AbsentError(f"the registry at {url} has no version {number} of {topic.topic}{reason}")
        if answer.status != HTTPStatus.OK:
            refuses = answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
            hint = "; --token-file names a file with another token" if refuses else ""
            if "Location" in answer.headers:
                hint = f"; it redirects to {answer.headers['Location'][:300]}: name that server"
            raise ClusterError(f"the registry at {url} answers HTTP {answer.status}{reason}{hint}")
        try:
            return rest.version_of(answer.json()).info
        except (ValueError, TopicSchemaError) as error:
            raise ClusterError(f"the registry at {url} gives no schema: {error}") from None

    def _headers(self, url: str) -> dict[str, str]:
        """Return the headers with the token. The cluster's own token is only sent over TLS."""
        token = self.cluster.token if url.startswith("https:") else ""
        if self.options.token_file:
            token = files.read(self.options.token_file).decode(errors="replace").strip()
            demand_token(token, self.options.token_file)
        return {"Authorization": f"Bearer {token}"} if token else {}


def _of_spec(spec: TopicSchemaSpec, entry: VersionEntry) -> SchemaInfo:
    """Return the schema of the spec. Sources are compiled as by the client whose result is the version."""
    sources = schema_source.sources_of(spec)
    if sources is None:
        return schema_source.info_of(spec)
    compiled = (
        SchemaInfo(spec.type, protoc.compile_envelope(sources, pulsar_version=each), dict(spec.properties))
        for each in (NEWEST, PulsarVersion.V4_0)
    )
    first = next(compiled)
    return first if _is_version(first, entry) else next(compiled)


def _demand_url(url: str) -> None:
    """Raise UsageError for a URL that no server can have. A password in it is not printed."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError(f"--registry-url or {_URL}: write http://HOST:PORT or https://HOST:PORT, without a user")


def _reason(answer: urllib3.BaseHTTPResponse) -> str:
    """Return the reason in a response of Pulsar's REST API, for the end of a message."""
    with suppress(ValueError, TypeError, LookupError):
        return f": {str(answer.json()['reason'])[:300]}"
    return ""


def _is_version(info: SchemaInfo, entry: VersionEntry) -> bool:
    """Return True if the schema has the version's fingerprint, or does not parse."""
    try:
        return formats.parse(info, entry.pulsar_version, validate_defaults=False).fingerprint == entry.fingerprint
    except InvalidSchemaError:
        return True


def _range(entries: Sequence[VersionEntry]) -> str:
    first, last = entries[0].schema_version, entries[-1].schema_version
    return f"version {first}" if first == last else f"the versions {first} to {last}"


def line(number: int, kind: SchemaType, entry: VersionEntry | None) -> dict[str, Any]:
    """Return the line of a version as JSON, as far as it is known."""
    if entry is None:
        return {"schemaVersion": number, "type": kind.value}
    if entry.is_tombstone:
        return {"schemaVersion": number, "deletedAt": entry.registered_at}
    return {
        "schemaVersion": number,
        "type": kind.value,
        "fingerprint": entry.fingerprint,
        "registeredAt": entry.registered_at,
        "origin": entry.origin.value,
    }
