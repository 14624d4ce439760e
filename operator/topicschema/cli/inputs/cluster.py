"""The cluster of the kubeconfig, or of the pod."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import yaml
from kubernetes import client, config
from urllib3.exceptions import HTTPError

from topicschema.api.kinds import Kind, Object
from topicschema.cli.inputs.files import UsageError

_KUBECONFIG: Final = "~/.kube/config"
_UNUSABLE: Final = (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, AttributeError, LookupError)
_PAGE: Final = 500
_SECONDS: Final = 60.0


class ClusterError(Exception):
    """The API server does not answer, or refuses a request."""


class NoRightError(ClusterError):
    """The API server refuses a request, because the user has no right."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An API server. `namespace` is the namespace of the context."""

    connection: client.ApiClient
    namespace: str

    @property
    def token(self) -> str:
        """The user's bearer token, or "" if the user has another credential."""
        value: str = self.connection.configuration.get_api_key_with_prefix("BearerToken", "authorization") or ""
        return value.removeprefix("Bearer ")

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """Return the object, or None if it does not exist. Raises ClusterError."""
        try:
            wire: Object = self._call("get", kind, namespace, name=name)
        except client.ApiException as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise _translated(error, kind, namespace) from None
        return wire

    def list(self, kind: Kind, namespace: str = "") -> Iterator[Object]:
        """Yield the objects of the kind in the namespace. Raises ClusterError."""
        token = ""
        try:
            while True:
                page = self._call("list", kind, namespace, limit=_PAGE, _continue=token)
                yield from page["items"]
                token = page["metadata"].get("continue") or ""
                if not token:
                    return
        except client.ApiException as error:
            raise _translated(error, kind, namespace) from None

    def _call(self, verb: str, kind: Kind, namespace: str, **arguments: Any) -> Any:
        api, scope = client.CustomObjectsApi(self.connection), "namespaced" if kind.is_namespaced else "cluster"
        if kind.is_namespaced:
            arguments["namespace"] = namespace or self.namespace
        call = getattr(api, f"{verb}_{scope}_custom_object")
        try:
            return call(
                group=kind.group, version=kind.version, plural=kind.plural, _request_timeout=_SECONDS, **arguments
            )
        except HTTPError as error:
            host = self.connection.configuration.host
            raise ClusterError(f"the API server at {host} does not answer: {error}") from None


def _translated(error: client.ApiException, kind: Kind, namespace: str) -> ClusterError:
    where = f"{kind.plural} in the namespace {namespace}" if namespace else kind.plural
    refuses = error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    message = f"{where}: HTTP {error.status}: {message_of(error)}"
    if error.status == HTTPStatus.UNAUTHORIZED:
        message += "; the kubeconfig's credentials are invalid or have expired: log in again"
    return NoRightError(message) if refuses else ClusterError(message)


def message_of(error: client.ApiException) -> str:
    """Return the API server's message."""
    return str(status_of(error).get("message") or error.reason)


def status_of(error: client.ApiException) -> dict[str, Any]:
    """Return the Status in the answer, or an empty one."""
    try:
        status = json.loads(error.body or "")
    except (TypeError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


@contextmanager
def connect(context: str | None = None, user: str = "") -> Iterator[Cluster]:
    """Yield the cluster of KUBECONFIG, or of the pod. With `user`, act as that account.

    Raises UsageError if there is none.
    """
    configuration = client.Configuration()
    try:
        namespace = _load(configuration, context)
    except _UNUSABLE as error:
        raise UsageError(f"no cluster: {error}; set KUBECONFIG, or run in a pod") from None
    configuration.retries = False
    with client.ApiClient(configuration) as connection:
        cluster = Cluster(connection, namespace)
        demand_token(cluster.token, "the kubeconfig")
        if user:
            connection.set_default_header("Impersonate-User", user)
        yield cluster


def demand_token(token: str, source: str) -> None:
    """Raise UsageError, without the token, if no HTTP header can have it."""
    if not (token.isascii() and token.isprintable()):
        raise UsageError(f"{source}: a token must be one line of ASCII characters")


def kubeconfig() -> str | None:
    """Return the paths of the kubeconfig, or None in a pod."""
    default = Path(_KUBECONFIG).expanduser()
    return os.environ.get("KUBECONFIG") or (str(default) if default.exists() else None)


def _load(configuration: client.Configuration, context: str | None) -> str:
    """Read the address and the credentials, and return the namespace of the context."""
    file = kubeconfig() or (None if context is None else _KUBECONFIG)
    if file is None:
        config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        return "default"
    config.load_kube_config(file, context, client_configuration=configuration, persist_config=False)  # type: ignore[no-untyped-call]
    contexts, current = config.list_kube_config_contexts(file)  # type: ignore[no-untyped-call]
    chosen = next((each for each in contexts if each["name"] == context), current)
    return str(chosen.get("context", {}).get("namespace") or "default")
