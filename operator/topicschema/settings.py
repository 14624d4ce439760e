"""Settings of the processes, read once from the environment. No other module reads `os.environ`."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from topicschema.broker.rate_limiter import PER_SECOND
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.storage import plugins
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.plugins import StorageFactory, StorageUrl, UnusableStorageError
from topicschema.validation.request import SPARK_FROM_SECONDS

_MAX_PORT = 65_535


class InvalidSettingError(Exception):
    """An environment variable with an invalid value. The message names the variable."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Times of the leader's lease in seconds: its duration, the deadline for a renewal, and the retry period."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


@dataclass(frozen=True, slots=True)
class ValidationSettings:
    """Images of the pods that read retained messages, their namespace, and limits on Jobs.

    Without `image` there is no validation, and without `spark_image` no Spark executor. A run that would take one pod
    more than `spark_from_seconds` starts executors.
    """

    image: str = ""
    spark_image: str = ""
    spark_from_seconds: float = SPARK_FROM_SECONDS
    namespace: str = "topicschema-validation"
    jobs: int = 10
    jobs_per_namespace: int = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the controller. `checkers` are the plugged-in checkers, which no variable names.

    * `kubeconfig`: None inside a pod.
    * `resync_period`: seconds until a settled object is reconciled again.
    * `watch_timeout`: seconds without a response of the API server after which liveness fails.
    * `broker_requests`: requests a second to each broker.
    * `storage`: makes the store of histories and claims.
    """

    kubeconfig: str | None = None
    namespace: str = "topicschema-system"
    identity: str = "topicschema"
    lease: LeaseSettings = LeaseSettings()
    probe_port: int = 8080
    log_level: str = "INFO"
    workers: int = 8
    resync_period: float = 1800.0
    watch_timeout: float = 600.0
    broker_requests: int = PER_SECOND
    validation: ValidationSettings = ValidationSettings()
    storage: StorageFactory = KubernetesStorage
    checkers: Checkers = field(default_factory=lambda: BUILT_IN, hash=False)

    @classmethod
    def load(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings from the environment. Raises InvalidSettingError for an invalid value."""
        lease = LeaseSettings(
            duration=_seconds(environment, "LEASE_DURATION", 15.0),
            renew_deadline=_seconds(environment, "LEASE_RENEW_DEADLINE", 10.0),
            retry_period=_seconds(environment, "LEASE_RETRY_PERIOD", 2.0),
        )
        if not lease.retry_period < lease.renew_deadline < lease.duration:
            raise InvalidSettingError("TOPICSCHEMA_LEASE_RETRY_PERIOD < _RENEW_DEADLINE < _DURATION must hold")
        return cls(
            kubeconfig=environment.get("KUBECONFIG") or None,
            namespace=_text(environment, "NAMESPACE", "topicschema-system"),
            identity=_text(environment, "IDENTITY", f"{socket.gethostname()}_{os.getpid()}"),
            lease=lease,
            probe_port=_port(environment, "PROBE_PORT", 8080),
            log_level=_level(environment),
            workers=_count(environment, "WORKERS", 8),
            resync_period=_seconds(environment, "RESYNC_PERIOD", 1800.0),
            watch_timeout=_seconds(environment, "WATCH_TIMEOUT", 600.0),
            broker_requests=_count(environment, "BROKER_REQUESTS_PER_SECOND", PER_SECOND),
            validation=ValidationSettings(
                image=_text(environment, "VALIDATION_IMAGE", ""),
                spark_image=_text(environment, "SPARK_IMAGE", ""),
                spark_from_seconds=_seconds(environment, "SPARK_FROM_SECONDS", SPARK_FROM_SECONDS),
                namespace=_text(environment, "VALIDATION_NAMESPACE", "topicschema-validation"),
                jobs=_count(environment, "VALIDATION_JOBS", 10),
                jobs_per_namespace=_count(environment, "VALIDATION_JOBS_PER_NAMESPACE", 2),
            ),
            storage=storage(environment),
        )


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the webhook, or of the registry. Its PEM files may change while it runs.

    If `client_ca` is set, clients need a certificate of that authority. `registry_requests` is the limit of one user's
    requests in a second.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None
    kubeconfig: str | None = None
    namespace: str = "topicschema-system"
    port: int = 8443
    probe_port: int = 8080
    log_level: str = "INFO"
    registry_requests: int = 500
    storage: StorageFactory = KubernetesStorage
    checkers: Checkers = field(default_factory=lambda: BUILT_IN, hash=False)

    @classmethod
    def load(cls, environment: Mapping[str, str] = os.environ, process: str = "WEBHOOK") -> Self:
        """Read the settings from the environment, those of its port with the name of the process.

        Raises InvalidSettingError for an invalid value.
        """
        client_ca = _text(environment, f"{process}_CLIENT_CA", "")
        return cls(
            certificate=Path(_text(environment, f"{process}_CERT", "/etc/topicschema/tls/tls.crt")),
            key=Path(_text(environment, f"{process}_KEY", "/etc/topicschema/tls/tls.key")),
            client_ca=Path(client_ca) if client_ca else None,
            kubeconfig=environment.get("KUBECONFIG") or None,
            namespace=_text(environment, "NAMESPACE", "topicschema-system"),
            port=_port(environment, f"{process}_PORT", 8443),
            probe_port=_port(environment, "PROBE_PORT", 8080),
            log_level=_level(environment),
            registry_requests=_count(environment, "REGISTRY_REQUESTS_PER_SECOND", 500),
            storage=storage(environment),
        )


def storage_name(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the store."""
    return _text(environment, "SCHEMA_REGISTRY_STORAGE", plugins.DEFAULT)


def storage(environment: Mapping[str, str] = os.environ) -> StorageFactory:
    """Return the maker of the store. Raises InvalidSettingError if it cannot be loaded."""
    try:
        return plugins.load(storage_name(environment), storage_url(environment))
    except UnusableStorageError as error:
        raise InvalidSettingError(f"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE: {error}") from None


def storage_url(environment: Mapping[str, str] = os.environ) -> StorageUrl:
    """Return the URL of a store's database."""
    file = _text(environment, "SCHEMA_REGISTRY_STORAGE_URL_FILE", "")
    return StorageUrl(_text(environment, "SCHEMA_REGISTRY_STORAGE_URL", ""), Path(file) if file else None)


def _text(environment: Mapping[str, str], name: str, default: str) -> str:
    return environment.get(f"TOPICSCHEMA_{name}") or default


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = _text(environment, name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InvalidSettingError(f"TOPICSCHEMA_{name} must be a number above 0, not {text[:80]!r}")
    return value


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    text = _text(environment, name, str(default))
    if not text.isdecimal() or not int(text):
        raise InvalidSettingError(f"TOPICSCHEMA_{name} must be a whole number above 0, not {text[:80]!r}")
    return int(text)


def _port(environment: Mapping[str, str], name: str, default: int) -> int:
    text = _text(environment, name, str(default))
    if not text.isdecimal() or not 0 <= int(text) <= _MAX_PORT:
        raise InvalidSettingError(f"TOPICSCHEMA_{name} must be a port, not {text[:80]!r}")
    return int(text)


def _level(environment: Mapping[str, str]) -> str:
    text = _text(environment, "LOG_LEVEL", "INFO").upper()
    if text not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        raise InvalidSettingError(f"TOPICSCHEMA_LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not {text[:80]!r}")
    return text
