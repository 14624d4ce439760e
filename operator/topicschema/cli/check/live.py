"""Verdicts of a cluster: server-side dry runs, which API server and webhook answer as they answer an apply."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from kubernetes import client
from urllib3.exceptions import HTTPError

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, TOPIC_SCHEMA, Kind
from topicschema.cli.check.engine import CheckResult
from topicschema.cli.check.resources import Manifest
from topicschema.cli.check.verdicts import HistorySource, NoAnswerError, ResourceVerdict
from topicschema.cli.inputs import cluster
from topicschema.core.compatibility import Incompatibility

_KINDS: Final = {kind.name: kind for kind in (TOPIC_SCHEMA, NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY)}
_REFUSED: Final = (400, 413, 422)
_AT_ONCE: Final = 8
_SECONDS: Final = 30.0
_OPTIONS: Final[Mapping[str, Any]] = {
    "dry_run": "All",
    "field_manager": "topicschema-check",
    "field_validation": "Strict",
}
_METADATA: Final = ("name", "labels", "annotations")
_TRIES: Final = 5
"""Tries to replace an object while the controller writes its status."""
_WARNING: Final = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
_FINDING: Final = re.compile(r"(?P<rule>[A-Z][A-Za-z0-9_]*)(?: at (?P<path>\$\S*))?: (?P<message>.*)", re.DOTALL)


def verdicts(manifests: Sequence[Manifest]) -> list[ResourceVerdict]:
    """Return the verdict of the kubeconfig's cluster on each resource. Raises UsageError, NoAnswerError."""
    with cluster.connect() as connected, ThreadPoolExecutor(_AT_ONCE) as threads:
        api = client.CustomObjectsApi(connected.connection)
        return list(threads.map(lambda each: _verdict(api, each, connected.namespace), manifests))


def _verdict(api: client.CustomObjectsApi, manifest: Manifest, namespace: str) -> ResourceVerdict:
    try:
        headers = _dry_run(api, manifest, manifest.resource.namespace or namespace)
    except client.ApiException as error:
        if error.status not in _REFUSED:
            raise NoAnswerError(f"{manifest.label}: HTTP {error.status}: {cluster.message_of(error)}") from None
        answer = CheckResult(None, tuple(_causes(error)), tuple(_warnings(error.headers)))
        return ResourceVerdict(manifest, answer, HistorySource.CLUSTER)
    except HTTPError as error:
        raise NoAnswerError(f"the API server at {api.api_client.configuration.host} does not answer: {error}") from None
    return ResourceVerdict(manifest, CheckResult(warnings=tuple(_warnings(headers))), HistorySource.CLUSTER)


def _dry_run(api: client.CustomObjectsApi, manifest: Manifest, namespace: str) -> Any:
    """Create or replace the resource without effect, and return the headers. Raises ApiException.

    A server-side apply would keep the fields that the manifest no longer has and another field manager owns.
    """
    wire, kind = manifest.resource.document.value, _KINDS[manifest.resource.kind]
    calls, name = _calls(api, kind, namespace), manifest.resource.name
    options: dict[str, Any] = {**_OPTIONS, "_request_timeout": _SECONDS}
    for _ in range(_TRIES):
        try:
            stored: Any = calls.get(name, _request_timeout=_SECONDS)
        except client.ApiException as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            new = {name: member for name, member in wire.items() if name != "status"}
            new["metadata"] = {name: wire["metadata"][name] for name in _METADATA if name in wire["metadata"]}
            return calls.create(new, **options)[2]
        try:
            body = {**stored, "spec": wire["spec"]}
            return calls.replace(name, body, **options)[2]
        except client.ApiException as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
    raise NoAnswerError(f"{manifest.label} changes all the time")


class _Calls(NamedTuple):
    """The requests about objects of one kind, in one namespace if they have one."""

    get: Callable[..., Any]
    create: Callable[..., Any]
    replace: Callable[..., Any]


def _calls(api: client.CustomObjectsApi, kind: Kind, namespace: str) -> _Calls:
    if not kind.is_namespaced:
        place = (kind.group, kind.version, kind.plural)
        return _Calls(
            partial(api.get_cluster_custom_object, *place),
            partial(api.create_cluster_custom_object_with_http_info, *place),
            partial(api.replace_cluster_custom_object_with_http_info, *place),
        )
    names = (kind.group, kind.version, namespace, kind.plural)
    return _Calls(
        partial(api.get_namespaced_custom_object, *names),
        partial(api.create_namespaced_custom_object_with_http_info, *names),
        partial(api.replace_namespaced_custom_object_with_http_info, *names),
    )


def _warnings(headers: Any) -> Iterator[Incompatibility]:
    for line in headers.getlist("Warning"):
        for text in _WARNING.findall(line):
            yield _finding(re.sub(r"\\(.)", r"\1", text), "spec")


def _causes(error: client.ApiException) -> Iterator[Incompatibility]:
    causes = cluster.status_of(error).get("details", {}).get("causes") or [{"message": cluster.message_of(error)}]
    for cause in causes:
        yield _finding(str(cause.get("message", "")), str(cause.get("field") or "spec"))


def _finding(text: str, field: str) -> Incompatibility:
    result = _FINDING.fullmatch(text)
    if result is None:
        return Incompatibility("Refused", field, text)
    return Incompatibility(result["rule"], result["path"] or field, result["message"])
