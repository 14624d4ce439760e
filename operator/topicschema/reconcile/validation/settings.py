"""The effective settings of a topic's validation, its request, and its Job. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final

from topicschema.api.registries import AuthenticationSpec, RegistryValidationSpec, SchemaRegistry
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import (
    SampleSpec,
    SourceSpec,
    ToleranceSpec,
    TopicValidationSpec,
    ValidationSpec,
)
from topicschema.api.validation_pods import TemplateSpec
from topicschema.api.wire import encode
from topicschema.core.history import History, Owner
from topicschema.core.schemas import PulsarVersion, SchemaInfo, digest
from topicschema.core.topics import Topic
from topicschema.core.validation_rules import ValidationMode, seconds
from topicschema.core.verdict import Outcome, Verdict
from topicschema.judging.policies import ActivePolicy
from topicschema.validation.job.manifest import JobRequest
from topicschema.validation.job.pods import CREDENTIALS_FOLDER, Runtime, SecretFiles, credentials_of
from topicschema.validation.request import (
    FileFormat,
    FileSource,
    OAuth2Flow,
    PulsarSource,
    Sample,
    Tolerance,
    ValidationRequest,
)

_DEADLINE: Final = 3600
_STAY: Final = 86_400
_MOST_EXECUTORS: Final = 8
_ALL_PERCENT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSettings:
    """The effective settings of one topic. `runtime` has the images of the registry, or the operator's.

    `is_installed` is True if this operator has a validation image.
    `topic` is the topic's local name. `ca` has the CA certificates of the registry's broker, or None. `is_locked` is
    True if only the operator adds schemas.
    """

    mode: ValidationMode
    spec: ValidationSpec
    registry: SchemaRegistry
    runtime: Runtime
    topic: str = ""
    ca: str | None = None
    is_locked: bool = True
    is_installed: bool = True

    @property
    def runs(self) -> RegistryValidationSpec:
        """The registry's settings of runs."""
        return self.registry.spec.validation or RegistryValidationSpec()

    @property
    def template(self) -> TemplateSpec:
        """The template of the pods."""
        return self.runs.pod_template or TemplateSpec()

    @property
    def is_sampled(self) -> bool:
        """True if the sample may omit messages."""
        sample = self.spec.sample or SampleSpec()
        return (
            sample.max_messages is not None
            or sample.since is not None
            or (sample.percent or _ALL_PERCENT) < _ALL_PERCENT
        )

    @property
    def run_hash(self) -> str:
        """The hash of the Job's runtime settings. If it changes, a failed run is retried at once."""
        spec, runs, pulsar = self.spec, self.runs, self.registry.spec.pulsar
        run = (self.max_executors, runs.destination, spec.active_deadline_seconds, self.runtime, encode(self.template))
        address = "" if pulsar is None else pulsar.admin_url
        parts = (*run, self.mounts(), address, self.ca, encode(runs.authentication) if runs.authentication else None)
        return digest(repr(parts).encode(errors="surrogatepass"))

    @property
    def max_executors(self) -> int:
        """The maximum number of Spark executors. Without an image for Spark it is 0."""
        most = self.runs.max_executors
        return 0 if not self.runtime.spark_image else _MOST_EXECUTORS if most is None else most

    @property
    def event_log(self) -> str | None:
        """The URI of the folder for Spark's event logs, or None."""
        if self.runs.destination is None:
            return None
        folder, mark, options = self.runs.destination.partition("?")
        return f"{folder.rstrip('/')}/spark-events{mark}{options}"

    @property
    def invalid_reason(self) -> str:
        """The reason why no Job can be created, or ""."""
        if not self.is_installed:
            return "validation is not installed: TOPICSCHEMA_VALIDATION_IMAGE names no image (chart: validation)"
        name, pulsar = self.registry.metadata.name, self.registry.spec.pulsar
        if self.registry.spec.validation is None:
            return f"registry {name} has no spec.validation, which says how messages are read"
        if self._files is None and (pulsar is None or pulsar.service_url is None):
            return f"the topic's messages are read from spec.pulsar.serviceURL, which registry {name} does not name"
        return ""

    @property
    def _files(self) -> FileSource | None:
        source = self.spec.source or SourceSpec()
        if source.files is None:
            return None
        kind = source.files.format
        return FileSource(
            (source.files.uri.replace("{topic}", self.topic),), None if kind is None else FileFormat(kind.value.lower())
        )

    def source(self) -> dict[str, Any]:
        """Return the request's `files` or `pulsar`."""
        files, pulsar = self._files, self.registry.spec.pulsar
        if files is not None:
            return {"files": files}
        if pulsar is None or pulsar.service_url is None:
            raise ValueError(self.invalid_reason)
        source = PulsarSource(
            pulsar.admin_url,
            pulsar.service_url,
            ca=self.ca,
            redirect_hosts=pulsar.redirect_hosts,
            **_credential_files(self.runs.authentication),
        )
        return {"pulsar": source}

    def mounts(self) -> tuple[SecretFiles, ...]:
        """Return the Secrets that the pods mount."""
        credentials = credentials_of(self.runs.authentication)
        return (credentials,) if self._files is None and credentials is not None else ()


def effective(
    governing: ActivePolicy, registry: SchemaRegistry, resource: TopicSchema, runtime: Runtime, ca: str | None
) -> EffectiveSettings | None:
    """Return the settings of one topic, or None if validation is off. The topic's own fields have precedence."""
    policy = governing.resource
    spec = merged(policy.spec.validation or ValidationSpec(), resource.spec.validation or TopicValidationSpec())
    if spec.mode is None or spec.mode is ValidationMode.OFF:
        return None
    runs = registry.spec.validation or RegistryValidationSpec()
    template = runs.pod_template or TemplateSpec()
    return EffectiveSettings(
        mode=spec.mode,
        spec=spec,
        registry=registry,
        runtime=Runtime(
            template.image or runtime.image, template.spark_image or runtime.spark_image, runtime.spark_from_seconds
        ),
        topic=Topic.parse(resource.spec.topic).local_name,
        ca=ca,
        is_locked=_is_locked(governing),
        is_installed=bool(runtime.image),
    )


def merged(policy: ValidationSpec, topic: TopicValidationSpec) -> ValidationSpec:
    """Return the policy's settings, replaced by those of the topic field by field."""
    own = {each.name: getattr(topic, each.name) for each in fields(topic)}
    general = {each.name: getattr(policy, each.name) for each in fields(policy)}
    return ValidationSpec(**(general | {name: value for name, value in own.items() if value is not None}))


def _is_locked(governing: ActivePolicy) -> bool:
    """Return True if only the operator adds schemas, as last observed. This also applies without a broker."""
    observed = governing.resource.observed
    if not governing.resource.has_broker:
        return True
    if observed is None:
        return False
    allows = observed.is_allow_auto_update_schema
    if allows is None and observed.broker is not None:
        allows = observed.broker.is_allow_auto_update_schema
    return allows is False


@dataclass(frozen=True, slots=True)
class ValidationTarget:
    """The subject of a validation: a schema, its history, and its verdict, which has its version number."""

    schema: SchemaInfo
    history: History
    verdict: Verdict
    pulsar_version: PulsarVersion

    @property
    def writers(self) -> dict[int, str]:
        """The content hashes of the versions of messages by number, with the candidate's."""
        known = {each.schema_version: each.content_hash for each in self.history.entries if not each.is_tombstone}
        return known | self.itself

    @property
    def itself(self) -> dict[int, str]:
        """The content hash of the candidate by its number, or {} if it is a version already."""
        number = self.verdict.schema_version
        is_next = self.verdict.outcome is Outcome.NEXT_VERSION and number is not None
        return {number: self.schema.content_hash} if is_next and number is not None else {}


@dataclass(frozen=True)
class RequestSpec:
    """The subject and the settings of a run, and the requests of another run of the same.

    `revalidate` is the value of the annotation, and `supersedes` the time of the passed validation that has expired.
    """

    target: ValidationTarget
    settings: EffectiveSettings
    revalidate: str = ""
    supersedes: str = ""

    @cached_property
    def hash(self) -> str:
        """The hash that identifies the request. It needs no payload, and it stays the same after the registration.

        It does not cover the Job's runtime settings (images, account, executors): see `EffectiveSettings.run_hash`.
        """
        spec, pulsar = self.settings.spec, self.settings.registry.spec.pulsar
        has_files = spec.source is not None and spec.source.files is not None
        parts = {
            "schema": self.target.schema.content_hash,
            "writers": self.target.writers,
            "pulsarVersion": self.target.pulsar_version.value,
            "source": encode(spec.source) if has_files else "" if pulsar is None else pulsar.service_url or "",
            "sample": encode(spec.sample or SampleSpec()),
            "tolerance": encode(spec.tolerance or ToleranceSpec()),
            "values": bool(self.settings.runs.include_values),
            "revalidate": f"{self.revalidate}\n{self.supersedes}" if self.supersedes else self.revalidate,
        }
        return digest(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode(errors="surrogatepass"))


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """The owner of a Job with its team or "", the number of the attempt from 1, and the namespace of all Jobs."""

    owner: Owner
    attempt: int
    namespace: str
    team: str = ""


def job_request(
    run: RequestSpec, versions: Mapping[int, SchemaInfo], topic: str, identity: JobIdentity, executors: int = 0
) -> JobRequest:
    """Return the Job to create. `versions` are all stored payloads. Raise ValueError if the settings are invalid."""
    settings, spec, target = run.settings, run.settings.spec, run.target
    validation_request = ValidationRequest(
        candidate=target.schema,
        versions={**versions, **dict.fromkeys(target.itself, target.schema)},
        topic=topic,
        pulsar_version=target.pulsar_version,
        sample=_sample(spec.sample or SampleSpec()),
        tolerance=Tolerance((spec.tolerance or ToleranceSpec()).max_invalid_per_million or 0),
        include_values=bool(settings.runs.include_values),
        executors=executors,
        max_executors=settings.max_executors,
        spark_from_milliseconds=round(1000 * settings.runtime.spark_from_seconds),
        event_log=settings.event_log if executors else None,
        labels={"revalidate": run.revalidate} if run.revalidate else {},
        **settings.source(),
    )
    stay = spec.ttl_seconds_after_finished
    return JobRequest(
        namespace=identity.namespace,
        team=identity.team,
        owner=identity.owner,
        request_hash=run.hash,
        attempt=identity.attempt,
        validation_request=validation_request,
        image=settings.runtime.spark_image if executors else settings.runtime.image,
        run_hash=settings.run_hash,
        template=settings.template,
        mounts=settings.mounts(),
        active_deadline_seconds=spec.active_deadline_seconds or _DEADLINE,
        ttl_seconds_after_finished=_STAY if stay is None else stay,
    )


def _sample(spec: SampleSpec) -> Sample:
    return Sample(spec.max_messages, spec.percent or _ALL_PERCENT, seconds(spec.since), spec.seed or 0)


def _credential_files(authentication: AuthenticationSpec | None) -> dict[str, Any]:
    """Return the fields of PulsarSource that name the mounted files."""
    files = credentials_of(authentication)
    if authentication is None or files is None:
        return {}
    if authentication.oauth2 is not None:
        oauth2 = authentication.oauth2
        flow = OAuth2Flow(
            oauth2.issuer_url,
            oauth2.client_id,
            f"{CREDENTIALS_FOLDER}/secret",
            oauth2.audience or "",
            oauth2.scope or "",
        )
        return {"oauth2": flow}
    names = {"token": "token_file", "tls.crt": "certificate_file", "tls.key": "key_file"}
    return {names[name]: f"{CREDENTIALS_FOLDER}/{name}" for name in files.members}
