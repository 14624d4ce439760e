"""Audits of a policy's Pulsar namespace: its CronJob, the Jobs of that, and the result of the last one.

Kubernetes applies the schedule. The limiter of validation starts the Jobs. A pod's termination message has the figures.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from topicschema import telemetry
from topicschema.api.audits import AuditFigures, AuditSpec, AuditStatus
from topicschema.api.kinds import CONFIG_MAP, CRON_JOB, JOB, POD, Object
from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import AuthenticationSpec, PulsarSpec, RegistryValidationSpec, SchemaRegistry
from topicschema.api.validation_pods import TemplateSpec
from topicschema.cluster.errors import ApiRefusedError, ForbiddenError, NotFoundError
from topicschema.core.reasons import Reason
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.conditions import ConditionInput
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.reconcile.status_writer import FIELD_MANAGER
from topicschema.validation.job import audits
from topicschema.validation.job.audits import AuditConfig, AuditRequest
from topicschema.validation.job.manifest import RUN_HASH_ANNOTATION
from topicschema.validation.job.outcome import ended, failure_of, success_message
from topicschema.validation.job.pods import CREDENTIALS_FOLDER, credentials_of

_MOST_EXECUTORS: Final = 8
_STORE: Final = "s3://"
_FILE_OPTIONS: Final = {
    "token": "tokenFile",
    "tls.crt": "certificateFile",
    "tls.key": "keyFile",
    "secret": "oauth2SecretFile",
}
"""Options of `pulsar-messages` for the files of `credentials_of`."""
_REFUSED: Final = "Kubernetes refuses the CronJob; correct spec.audit, or podTemplate of the registry"
_FORMER: Final = "Until then, audits go on by the former CronJob, if there was one"


@dataclass(frozen=True, slots=True)
class AuditState:
    """The last complete audit, and the condition of the policy. Both are None without spec.audit.

    `newly_invalid` are the topics to report, if the audit is a new one.
    """

    status: AuditStatus | None = None
    condition: ConditionInput | None = None
    newly_invalid: tuple[str, ...] = ()


class Audits:
    """CronJobs of all policies."""

    def __init__(self, ctx: ReconcileContext) -> None:
        self._ctx = ctx

    async def reconcile(self, key: Key, resource: NamespaceSchemaPolicy, registry: SchemaRegistry) -> AuditState:
        """Apply the CronJob of the policy, or delete it. Return the state of the policy's audits."""
        before, spec = resource.status, resource.spec.audit
        if spec is None:
            if before.audit is not None or any(each.type is ConditionType.AUDITED for each in before.conditions):
                await self.remove(key)
            return AuditState()
        if invalid := _invalid_reason(self._ctx, registry):
            await self.remove(key)
            return AuditState(before.audit, _condition(ConditionStatus.FALSE, Reason.AUDIT_FAILED, invalid))
        try:
            await self._apply(key, resource, spec, registry)
            jobs = await self._ctx.client.list(
                JOB, self._ctx.validation.namespace, label_selector=audits.audit_selector(key.namespace, key.name)
            )
            if any(job["spec"].get("suspend") and ended(job) is None for job in jobs):
                await self._ctx.validation.limiter.start(self._ctx.client, key, self._ctx.enqueue)
        except (ForbiddenError, ApiRefusedError) as error:
            is_invalid = isinstance(error, ApiRefusedError)
            why = f"{_REFUSED}: {error.message}. {_FORMER}" if is_invalid else error.message
            return AuditState(before.audit, _condition(ConditionStatus.FALSE, Reason.AUDIT_FAILED, why))
        state = await self._state(before.audit, jobs)
        if state.status is not None:
            telemetry.AUDIT_INVALID.labels(key.namespace, key.name).set(state.status.invalid)
            completed = datetime.fromisoformat(state.status.completed_at).timestamp()
            telemetry.AUDIT_COMPLETED.labels(key.namespace, key.name).set(completed)
        return state

    async def remove(self, key: Key) -> None:
        """Delete the CronJob of a policy. Kubernetes deletes its ConfigMap, its Jobs and their pods."""
        for gauge in (telemetry.AUDIT_INVALID, telemetry.AUDIT_COMPLETED):
            gauge.remove_by_labels({"namespace": key.namespace, "policy": key.name})
        if self._ctx.validation.runtime.image:
            with suppress(NotFoundError, ForbiddenError):
                name = audits.audit_name(key.namespace, key.name)
                await self._ctx.client.delete(CRON_JOB, self._ctx.validation.namespace, name)

    async def _apply(
        self, key: Key, resource: NamespaceSchemaPolicy, spec: AuditSpec, registry: SchemaRegistry
    ) -> None:
        client, namespace = self._ctx.client, self._ctx.validation.namespace
        team = await self._ctx.team_of(registry, key.namespace)
        request = _request(self._ctx, resource, spec, registry, team)
        if await self._applied_hash(request.name) == audits.run_hash(request):
            return
        applied = await client.apply(
            CRON_JOB, namespace, request.name, audits.cron_job(request), field_manager=FIELD_MANAGER
        )
        config_map = audits.config_map(request, applied["metadata"]["uid"])
        await client.apply(CONFIG_MAP, namespace, request.name, config_map, field_manager=FIELD_MANAGER)

    async def _applied_hash(self, name: str) -> str:
        """Return the hash of the ConfigMap, which is applied last, or "" without one."""
        try:
            wire = await self._ctx.client.get(CONFIG_MAP, self._ctx.validation.namespace, name)
        except NotFoundError:
            return ""
        return str((wire["metadata"].get("annotations") or {}).get(RUN_HASH_ANNOTATION, ""))

    async def _state(self, before: AuditStatus | None, jobs: Sequence[Object]) -> AuditState:
        """Return the state by the Job that ended last."""
        over = sorted((job for job in jobs if ended(job) is not None), key=_ended_at)
        if not over:
            if before is None:
                return AuditState(None, _condition(ConditionStatus.UNKNOWN, Reason.AUDIT_PENDING, "no audit yet"))
            return AuditState(before, _complete(before))
        job = over[-1]
        name = job["metadata"]["name"]
        if before is not None and before.job == name:
            return AuditState(before, _complete(before))
        self._ctx.validation.limiter.slot_freed(self._ctx.enqueue)
        pods = await self._ctx.client.list(
            POD, self._ctx.validation.namespace, label_selector=f"batch.kubernetes.io/job-name={name}"
        )
        message = success_message(pods)
        document = None if message is None else audits.read_document(message)
        if document is None:
            why = f"{name}: {failure_of(job, pods)}"
            return AuditState(before, _condition(ConditionStatus.FALSE, Reason.AUDIT_FAILED, why))
        status = _status(document.figures, _ended_at(job), name)
        return AuditState(status, _complete(status), document.newly_invalid)


def _invalid_reason(ctx: ReconcileContext, registry: SchemaRegistry) -> str:
    """Return why no audit can run, or ""."""
    name, pulsar, runs = registry.metadata.name, registry.spec.pulsar, registry.spec.validation
    if pulsar is None:
        return f"registry {name} has no Pulsar, so there are no messages"
    if pulsar.service_url is None:
        return f"messages are read from spec.pulsar.serviceURL, which registry {name} does not name"
    if runs is None or runs.destination is None:
        return f"the tables go to spec.validation.destination, which registry {name} does not name"
    if not runs.destination.startswith(_STORE):
        return f"audits need a destination {_STORE}, which registry {name} does not name"
    if not ctx.validation.runtime.image or not _image(ctx, runs):
        return "audits are not installed: TOPICSCHEMA_SPARK_IMAGE names no image (chart: validation.spark)"
    return ""


def _image(ctx: ReconcileContext, runs: RegistryValidationSpec) -> str:
    return (runs.pod_template or TemplateSpec()).spark_image or ctx.validation.runtime.spark_image


def _request(
    ctx: ReconcileContext, resource: NamespaceSchemaPolicy, spec: AuditSpec, registry: SchemaRegistry, team: str
) -> AuditRequest:
    pulsar, runs = registry.spec.pulsar, registry.spec.validation
    if pulsar is None or runs is None or runs.destination is None:
        raise TypeError("no audit can run")
    folder, mark, query = runs.destination.partition("?")
    root, more = folder.rstrip("/"), f"{mark}{query}"
    ca, credentials = ctx.brokers.ca(registry), credentials_of(runs.authentication)
    config = AuditConfig(
        options=dict(_options(resource.spec.pulsar_namespace, spec, pulsar, runs.authentication, has_ca=bool(ca))),
        output=f"{root}/{resource.spec.pulsar_namespace}{more}",
        proposed=spec.proposed.value,
        max_executors=_MOST_EXECUTORS if runs.max_executors is None else runs.max_executors,
        event_log=f"{root}/spark-events{more}",
    )
    return AuditRequest(
        namespace=ctx.validation.namespace,
        policy=(resource.metadata.namespace, resource.metadata.name),
        spec=spec,
        config=config,
        image=_image(ctx, runs),
        ca=ca or "",
        team=team,
        template=runs.pod_template or TemplateSpec(),
        mounts=() if credentials is None else (credentials,),
    )


def _options(
    namespace: str, spec: AuditSpec, pulsar: PulsarSpec, authentication: AuthenticationSpec | None, *, has_ca: bool
) -> Iterator[tuple[str, str]]:
    """Yield the options of `pulsar-messages`."""
    yield "adminUrl", pulsar.admin_url
    yield "serviceUrl", pulsar.service_url or ""
    yield "namespace", namespace
    # Without hosts, the data source would allow all.
    yield "redirectHosts", ",".join(pulsar.redirect_hosts or (urlsplit(pulsar.admin_url).netloc,))
    if spec.since is not None:
        yield "since", spec.since
    if has_ca:
        yield "caFile", audits.CA_PATH
    files = credentials_of(authentication)
    for name in () if files is None else files.members:
        yield _FILE_OPTIONS[name], f"{CREDENTIALS_FOLDER}/{name}"
    if authentication is not None and authentication.oauth2 is not None:
        yield from audits.flow_options(authentication.oauth2)


def _status(figures: AuditFigures, completed_at: str, job: str) -> AuditStatus:
    return AuditStatus(
        completed_at=completed_at,
        job=job,
        topics=figures.topics,
        messages=figures.messages,
        invalid=figures.invalid,
        unread_topics=figures.unread_topics,
        findings=figures.findings,
        tables=figures.tables,
    )


def _complete(status: AuditStatus) -> ConditionInput:
    topics = "1 topic" if status.topics == 1 else f"{status.topics:,} topics"
    message = f"{topics}, {status.messages:,} messages, {status.invalid:,} of them with a fault"
    if not status.unread_topics:
        return _condition(ConditionStatus.TRUE, Reason.AUDITED, message)
    unread = f"{message}; {status.unread_topics:,} topics could not be read: the table topics says why"
    return _condition(ConditionStatus.FALSE, Reason.TOPICS_UNREAD, unread)


def _condition(status: ConditionStatus, reason: Reason, message: str) -> ConditionInput:
    return ConditionInput(ConditionType.AUDITED, status, reason, message)


def _ended_at(job: Object) -> str:
    end = ended(job) or {}
    return str(end.get("lastTransitionTime") or "")
