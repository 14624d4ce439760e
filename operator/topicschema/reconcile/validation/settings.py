"""What policy and topic want validated: the settings in force, the question that follows, and the Job that asks it.

Pure: nothing is read here but what was read before.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from topicschema.api.policies import NamespaceSchemaPolicySpec
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.validation import (
    SampleSpec,
    SourceSpec,
    ToleranceSpec,
    TopicValidationSpec,
    ValidationMode,
    ValidationSpec,
)
from topicschema.api.validation_pods import ReaderAuthenticationSpec, TemplateSpec
from topicschema.api.wire import encode
from topicschema.broker.errors import BrokerNotAllowedError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.core.history import History, Owner
from topicschema.core.schemas import PulsarLine, SchemaInfo, digest
from topicschema.core.verdict import Outcome, Verdict
from topicschema.judging.policies import FoundPolicy
from topicschema.validation.job.manifest import JobRequest
from topicschema.validation.job.pods import CREDENTIALS_FOLDER, TRUST_FOLDER, SecretFiles
from topicschema.validation.request import (
    FileFormat,
    FilesAsked,
    OAuth2Asked,
    PulsarAsked,
    Question,
    Sample,
    Tolerance,
)

_DEADLINE: Final = 3600
_STAY: Final = 86_400
_UNITS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_CA: Final = "ca.crt"
_ALL: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSettings:
    """The settings in force for one topic; `is_installed`: this operator runs validations at all.

    `hosts` are those that its pods may be sent to.
    """

    mode: ValidationMode
    spec: ValidationSpec
    policy: NamespaceSchemaPolicySpec
    image: str
    hosts: AllowedHosts
    is_locked: bool = True
    is_installed: bool = True

    @property
    def template(self) -> TemplateSpec:
        """What is said of the pods."""
        return self.spec.template or TemplateSpec()

    @property
    def is_sampled(self) -> bool:
        """Whether messages may be left out."""
        sample = self.spec.sample or SampleSpec()
        return sample.max_messages is not None or sample.since is not None or (sample.percent or _ALL) < _ALL

    @property
    def run_hash(self) -> str:
        """A hash of how it is asked: where it changes, a run that failed is worth another try."""
        spec, pulsar = self.spec, self.policy.pulsar
        run = (spec.executors, spec.active_deadline_seconds, self.image, encode(self.template))
        reached = "" if pulsar is None else pulsar.admin_url
        said = (*run, self.mounts(), reached, encode(spec.authentication) if spec.authentication else None)
        return digest(repr(said).encode(errors="surrogatepass"))

    @property
    def invalid_reason(self) -> str:
        """Why the question cannot even be put together, in words; "" where it can."""
        if not self.is_installed:
            return "this operator runs no validation: TOPICSCHEMA_VALIDATION_IMAGE names no image (chart: validation)"
        if self.spec.executors and not self.template.service_account_name:
            return "executors need validation.template.serviceAccountName in the policy: an account that may make pods"
        if self._files is None and (self.policy.pulsar is None or self.policy.pulsar.service_url is None):
            return "the topic's messages are read from spec.pulsar.serviceURL, which the policy does not name"
        return self._disallowed_host

    @property
    def _disallowed_host(self) -> str:
        """Why the pods are not sent to the brokers that the policy names; "" where they are."""
        pulsar = self.policy.pulsar
        if self._files is not None or pulsar is None or pulsar.service_url is None:
            return ""
        try:
            self.hosts.check_service(pulsar.service_url)
        except BrokerNotAllowedError as error:
            return f"spec.pulsar.serviceURL: {error.message}"
        return ""

    @property
    def _files(self) -> FilesAsked | None:
        source = self.spec.source or SourceSpec()
        if source.files is None:
            return None
        kind = source.files.format
        return FilesAsked((source.files.uri,), None if kind is None else FileFormat(kind.value.lower()))

    def source(self) -> dict[str, Any]:
        """The question's `files` or `pulsar`."""
        files, pulsar = self._files, self.policy.pulsar
        if files is not None:
            return {"files": files}
        if pulsar is None or pulsar.service_url is None:
            raise ValueError(self.invalid_reason)
        asked = PulsarAsked(
            pulsar.admin_url,
            pulsar.service_url,
            ca_file=None if pulsar.tls is None else f"{TRUST_FOLDER}/{_CA}",
            **_credential_files(self.spec.authentication),
        )
        return {"pulsar": asked}

    def mounts(self) -> tuple[SecretFiles, ...]:
        """What the pods mount of Secrets."""
        pulsar, found = self.policy.pulsar, []
        credentials = _credentials(self.spec.authentication)
        if self._files is None and credentials is not None:
            found.append(credentials)
        if self._files is None and pulsar is not None and pulsar.tls is not None:
            ca = pulsar.tls.ca_secret_key_ref
            found.append(SecretFiles(TRUST_FOLDER, ca.name, {_CA: ca.key}))
        return tuple(found)


def wanted(found: FoundPolicy, resource: TopicSchema, image: str, hosts: AllowedHosts) -> EffectiveSettings | None:
    """What is in force, the topic's own fields first; None where nothing is to be validated."""
    policy = found.resource
    spec = merged(policy.spec.validation or ValidationSpec(), resource.spec.validation or TopicValidationSpec())
    if spec.mode is None or spec.mode is ValidationMode.OFF:
        return None
    chosen = None if spec.template is None else spec.template.image
    return EffectiveSettings(
        mode=spec.mode,
        spec=spec,
        policy=policy.spec,
        image=chosen or image,
        hosts=hosts,
        is_locked=_is_locked(found),
        is_installed=bool(image),
    )


def merged(policy: ValidationSpec, topic: TopicValidationSpec) -> ValidationSpec:
    """The policy's settings, with those of the topic in the place of its own, field by field."""
    own = {each.name: getattr(topic, each.name) for each in fields(topic)}
    general = {each.name: getattr(policy, each.name) for each in fields(policy)}
    return ValidationSpec(**(general | {name: value for name, value in own.items() if value is not None}))


def _is_locked(found: FoundPolicy) -> bool:
    """Whether nobody but the operator adds schemas, as far as was seen there; without a broker nobody else does."""
    spec, observed = found.resource.spec, found.resource.observed
    if spec.pulsar is None:
        return True
    if observed is None:
        return False
    allows = observed.is_allow_auto_update_schema
    if allows is None and observed.broker is not None:
        allows = observed.broker.is_allow_auto_update_schema
    return allows is False


@dataclass(frozen=True, slots=True)
class ValidationTarget:
    """What a question is about: a schema, what was registered before it, and which number it has or would have."""

    schema: SchemaInfo
    history: History
    verdict: Verdict
    line: PulsarLine

    @property
    def writers(self) -> dict[int, str]:
        """The content hashes of the versions that messages may be written with, the candidate's own among them."""
        known = {each.schema_version: each.content_hash for each in self.history.entries if not each.is_tombstone}
        return known | self.itself

    @property
    def itself(self) -> dict[int, str]:
        """The candidate, where it is no version yet."""
        number = self.verdict.schema_version
        is_next = self.verdict.outcome is Outcome.NEXT_VERSION and number is not None
        return {number: self.schema.content_hash} if is_next and number is not None else {}


def asked(subject: ValidationTarget, wanted: EffectiveSettings, revalidate: str) -> str:
    """A hash that tells this question from others, without reading any payload; the same once it is registered.

    By what means it is asked (image, account, executors) makes it no other question.
    """
    spec = wanted.spec
    parts = {
        "schema": subject.schema.content_hash,
        "writers": subject.writers,
        "line": subject.line.value,
        "source": encode(spec.source) if spec.source is not None and spec.source.files is not None else _place(wanted),
        "sample": encode(spec.sample or SampleSpec()),
        "tolerance": encode(spec.tolerance or ToleranceSpec()),
        "values": bool(spec.include_values),
        "revalidate": revalidate,
    }
    return digest(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode(errors="surrogatepass"))


def _place(wanted: EffectiveSettings) -> str:
    pulsar = wanted.policy.pulsar
    return "" if pulsar is None else pulsar.service_url or ""


def request(
    subject: ValidationTarget,
    wanted: EffectiveSettings,
    versions: Mapping[int, SchemaInfo],
    owner: Owner,
    names: "JobIdentity",
) -> JobRequest:
    """The Job that asks; `versions` are all stored payloads. ValueError if `wanted.invalid_reason`."""
    spec = wanted.spec
    question = Question(
        candidate=subject.schema,
        versions={**versions, **dict.fromkeys(subject.itself, subject.schema)},
        topic=names.topic,
        line=subject.line,
        sample=_sample(spec.sample or SampleSpec()),
        tolerance=Tolerance((spec.tolerance or ToleranceSpec()).max_invalid_per_million or 0),
        include_values=bool(spec.include_values),
        executors=spec.executors or 0,
        labels={"revalidate": names.revalidate} if names.revalidate else {},
        **wanted.source(),
    )
    stay = spec.ttl_seconds_after_finished
    return JobRequest(
        owner=owner,
        asked=names.asked,
        attempt=names.attempt,
        question=question,
        image=wanted.image,
        means=wanted.run_hash,
        template=wanted.template,
        mounts=wanted.mounts(),
        active_deadline_seconds=spec.active_deadline_seconds or _DEADLINE,
        ttl_seconds_after_finished=_STAY if stay is None else stay,
    )


@dataclass(frozen=True, slots=True)
class JobIdentity:
    """What a Job is called by."""

    topic: str
    asked: str
    attempt: int
    revalidate: str


def _sample(spec: SampleSpec) -> Sample:
    return Sample(spec.max_messages, spec.percent or _ALL, seconds(spec.since), spec.seed or 0)


def seconds(duration: str | None) -> int | None:
    """The seconds of a duration like 168h."""
    return None if duration is None else int(duration[:-1]) * _UNITS[duration[-1]]


def _credentials(authentication: ReaderAuthenticationSpec | None) -> SecretFiles | None:
    if authentication is None:
        return None
    token, oauth2, tls = authentication.token, authentication.oauth2, authentication.tls
    if token is not None:
        return SecretFiles(CREDENTIALS_FOLDER, token.secret_key_ref.name, {"token": token.secret_key_ref.key})
    if oauth2 is not None:
        return SecretFiles(CREDENTIALS_FOLDER, oauth2.secret_key_ref.name, {"key.json": oauth2.secret_key_ref.key})
    if tls is not None:
        return SecretFiles(CREDENTIALS_FOLDER, tls.secret_ref.name, {"tls.crt": "tls.crt", "tls.key": "tls.key"})
    return None


def _credential_files(authentication: ReaderAuthenticationSpec | None) -> dict[str, Any]:
    """The members of PulsarAsked that name the mounted files."""
    files = _credentials(authentication)
    if authentication is None or files is None:
        return {}
    if authentication.oauth2 is not None:
        told = authentication.oauth2
        key_file = f"{CREDENTIALS_FOLDER}/key.json"
        return {"oauth2": OAuth2Asked(told.issuer_url, told.audience or "", key_file, told.scope)}
    names = {"token": "token_file", "tls.crt": "certificate_file", "tls.key": "key_file"}
    return {names[name]: f"{CREDENTIALS_FOLDER}/{name}" for name in files.members}
