"""The effective settings and the request by them: the topic's fields have precedence, and hashes identify requests."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from support.kubernetes.registries import registry
from support.schemas.examples import ME, history, record
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.core.history import Origin
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.schemas import PulsarVersion
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict
from topicschema.judging.policies import ActivePolicy
from topicschema.judging.policy_rules import policy_of
from topicschema.reconcile.validation.settings import (
    EffectiveSettings,
    JobIdentity,
    RequestSpec,
    ValidationTarget,
    effective,
    job_request,
)
from topicschema.validation.job.pods import Runtime
from topicschema.validation.request import OAuth2Flow, Sample

ONE, TWO = record("id"), record("id", "note?")
FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
PULSAR = {"adminURL": "https://pulsar:8443", "serviceURL": "pulsar+ssl://pulsar:6651"}
NEXT = ValidationTarget(TWO.info, history(ONE), Verdict(Outcome.NEXT_VERSION, FULL, 1), PulsarVersion.V4_0)
RUNTIME = Runtime("topicschema-validation:1", "topicschema-spark:1")
TOPIC = "persistent://shop/orders/created"
IDENTITY = JobIdentity(ME, 3, "topicschema-validation", "payments")
CA = "-----BEGIN CERTIFICATE-----"


def at(validation: Mapping[str, Any] | None = MappingProxyType({}), **spec: Any) -> SchemaRegistry:
    """Return a registry with Pulsar and these settings of runs."""
    members = {"pulsar": PULSAR, **({} if validation is None else {"validation": dict(validation)}), **spec}
    return decode(SchemaRegistry, registry("p", **members))


OWN_STORE = at(pulsar=None)


def policy(
    validation: Mapping[str, Any] | None, status: Mapping[str, Any] | None = None, there: SchemaRegistry | None = None
) -> ActivePolicy:
    members: dict[str, Any] = {"registry": "p", "pulsarNamespace": "shop/orders"}
    members |= {} if validation is None else {"validation": validation}
    wire = {"metadata": {"name": "orders"}, "spec": members, "status": status or {}}
    resource = decode(NamespaceSchemaPolicy, wire).at(there or at())
    return ActivePolicy(resource, policy_of(resource))


def topic(validation: Mapping[str, Any] | None = None) -> TopicSchema:
    spec = {"topic": TOPIC, "type": "AVRO", **({"validation": validation} if validation else {})}
    return decode(TopicSchema, {"metadata": {"name": "created"}, "spec": spec})


def in_force(
    active: ActivePolicy,
    there: SchemaRegistry | None = None,
    resource: TopicSchema | None = None,
    ca: str | None = None,
) -> EffectiveSettings:
    settings = effective(active, there or at(), resource or topic(), RUNTIME, ca)
    assert settings is not None
    return settings


@pytest.mark.parametrize(
    ("of_policy", "of_topic", "mode"),
    [
        (None, None, None),
        ({}, None, None),
        ({"mode": "Off"}, None, None),
        ({"mode": "Gate"}, None, "Gate"),
        ({"mode": "Gate"}, {"mode": "Off"}, None),
        ({"mode": "Gate"}, {"mode": "Report"}, "Report"),
        (None, {"mode": "Gate"}, "Gate"),
        ({"mode": "Gate"}, {"sample": {"percent": 1}}, "Gate"),
    ],
)
def test_the_topics_fields_win_one_by_one(of_policy: Any, of_topic: Any, mode: str | None) -> None:
    settings = effective(policy(of_policy), at(), topic(of_topic), RUNTIME, None)
    assert (None if settings is None else settings.mode) == mode


def test_a_field_of_the_topic_leaves_the_policys_other_fields() -> None:
    of_policy = {"mode": "Gate", "activeDeadlineSeconds": 5, "sample": {"percent": 10}}
    settings = in_force(policy(of_policy), resource=topic({"sample": {"maxMessages": 5}}))
    assert settings.spec.active_deadline_seconds == 5
    assert settings.spec.sample is not None
    assert (settings.spec.sample.max_messages, settings.spec.sample.percent) == (5, None)


@pytest.mark.parametrize(
    ("of_registry", "spark_image", "expected"), [(None, "s", 8), (3, "s", 3), (0, "s", 0), (64, "s", 64), (64, "", 0)]
)
def test_registry_and_installation_limit_the_executors(
    of_registry: int | None, spark_image: str, expected: int
) -> None:
    limits = {} if of_registry is None else {"maxExecutors": of_registry}
    settings = effective(policy({"mode": "Gate"}), at(limits), topic(), Runtime("i", spark_image), None)
    assert settings is not None
    request = job_request(RequestSpec(NEXT, settings), {0: ONE.info}, TOPIC, IDENTITY).validation_request
    assert (request.executors, request.max_executors) == (0, expected)


def test_a_run_with_executors_has_the_image_with_spark_and_writes_its_event_log_to_the_destination() -> None:
    settings = in_force(policy({"mode": "Gate"}), at({"destination": "s3://audit/production/?region=eu-west-1"}))
    of_run, of_spark = (
        job_request(RequestSpec(NEXT, settings), {0: ONE.info}, TOPIC, IDENTITY, executors) for executors in (0, 4)
    )
    assert (of_run.image, of_run.validation_request.event_log) == (RUNTIME.image, None)
    assert (of_spark.image, of_spark.validation_request.executors) == (RUNTIME.spark_image, 4)
    assert of_spark.validation_request.event_log == "s3://audit/production/spark-events?region=eu-west-1"


@pytest.mark.parametrize(
    ("observed", "is_locked"),
    [
        (None, False),
        ({"isAllowAutoUpdateSchema": False}, True),
        ({"isAllowAutoUpdateSchema": True}, False),
        ({}, False),
        ({"broker": {"isAllowAutoUpdateSchema": False}}, True),
        ({"isAllowAutoUpdateSchema": True, "broker": {"isAllowAutoUpdateSchema": False}}, False),
        ({"isAllowAutoUpdateSchema": False, "address": "pulsar:8443"}, True),
        ({"isAllowAutoUpdateSchema": False, "address": "before:8443"}, False),
    ],
)
def test_a_gate_is_locked_if_the_broker_lets_no_client_add_schemas(observed: Any, *, is_locked: bool) -> None:
    status = None if observed is None else {"observed": observed}
    assert in_force(policy({"mode": "Gate"}, status)).is_locked == is_locked
    assert in_force(policy({"mode": "Gate"}, there=OWN_STORE), OWN_STORE).is_locked


FILES = {"source": {"files": {"uri": "s3://a/b"}}}


@pytest.mark.parametrize(
    ("validation", "there", "parts"),
    [
        ({}, at(), ()),
        ({}, OWN_STORE, ("spec.pulsar.serviceURL", "registry p")),
        ({}, at(pulsar={"adminURL": PULSAR["adminURL"]}), ("spec.pulsar.serviceURL", "registry p")),
        (FILES, OWN_STORE, ()),
        ({}, at(None), ("registry p", "spec.validation")),
        (FILES, at(None), ("registry p", "spec.validation")),
    ],
)
def test_a_reason_names_what_the_registry_lacks(
    validation: dict[str, Any], there: SchemaRegistry, parts: tuple[str, ...]
) -> None:
    active = policy({"mode": "Gate", **validation}, there=there)
    why = in_force(active, there).invalid_reason
    assert all(part in why for part in parts)
    assert bool(why) == bool(parts)
    uninstalled = effective(active, there, topic(), Runtime(), None)
    assert uninstalled is not None
    assert "TOPICSCHEMA_VALIDATION_IMAGE" in uninstalled.invalid_reason


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("s3://a/b", "s3://a/b"),
        ("s3://a/{topic}", "s3://a/created"),
        ("s3://a/{topic}/{topic}.parquet", "s3://a/created/created.parquet"),
        ("s3://a/{topics}", "s3://a/{topics}"),
    ],
)
def test_a_uri_names_the_topic(uri: str, expected: str) -> None:
    settings = in_force(policy({"mode": "Gate", "source": {"files": {"uri": uri, "format": "Parquet"}}}))
    files = settings.source()["files"]
    assert (files.uris, files.format.value) == ((expected,), "parquet")
    assert settings.mounts() == ()


def test_the_hash_of_a_request_covers_what_is_read_and_not_how() -> None:
    base = {"mode": "Gate", "ttlSecondsAfterFinished": 7200}
    same = RequestSpec(NEXT, in_force(policy(base))).hash
    for others in ({"mode": "Report"}, {"activeDeadlineSeconds": 5}):
        assert RequestSpec(NEXT, in_force(policy({**base, **others}))).hash == same
    assert (
        RequestSpec(NEXT, in_force(policy(base), at({"podTemplate": {"image": "x"}, "maxExecutors": 1}))).hash == same
    )
    after = NEXT.history.with_version(TWO, Origin.SPEC, "2026-11-21T06:00:00Z")
    registered = replace(NEXT, history=after, verdict=Verdict(Outcome.EQUAL_VERSION, FULL, 1))
    assert RequestSpec(registered, in_force(policy(base))).hash == same
    for others in ({"sample": {"percent": 5}}, {"tolerance": {"maxInvalidPerMillion": 1}}, FILES):
        assert RequestSpec(NEXT, in_force(policy({**base, **others}))).hash != same
    for there in (at({"includeValues": True}), at(pulsar={**PULSAR, "serviceURL": "pulsar://other:6650"})):
        assert RequestSpec(NEXT, in_force(policy(base), there)).hash != same
    assert RequestSpec(NEXT, in_force(policy(base)), "again").hash != same
    for other in (replace(NEXT, history=history()), replace(NEXT, schema=ONE.info)):
        assert RequestSpec(other, in_force(policy(base))).hash != same


def test_the_hash_of_a_run_changes_with_what_may_repair_a_failed_run() -> None:
    gate = policy({"mode": "Gate"})
    oauth2 = {"clientID": "reader", "secretRef": {"name": "reader", "key": "secret"}}
    changed = (
        in_force(policy({"mode": "Gate", "activeDeadlineSeconds": 7200})),
        in_force(gate, at({"maxExecutors": 1})),
        in_force(gate, at({"podTemplate": {"sparkImage": "other:1"}})),
        in_force(gate, at({"podTemplate": {"resources": {"limits": {"memory": "4Gi"}}}})),
        in_force(gate, at({"podTemplate": {"image": "other:1"}})),
        in_force(gate, at(pulsar={**PULSAR, "adminURL": "https://pulsar:443"})),
        in_force(gate, ca=CA),
        *(
            in_force(gate, at({"authentication": {"oauth2": {"issuerURL": issuer, **oauth2}}}))
            for issuer in ("https://a", "https://b")
        ),
    )
    assert len({in_force(gate).run_hash, *(each.run_hash for each in changed)}) == 1 + len(changed)


def test_the_request_has_every_version_and_the_candidate_under_its_number() -> None:
    run = RequestSpec(NEXT, in_force(policy({"mode": "Gate"})), "again")
    request = job_request(run, {0: ONE.info}, TOPIC, IDENTITY).validation_request
    assert (request.versions, request.candidate) == ({0: ONE.info, 1: TWO.info}, TWO.info)
    assert request.labels == {"revalidate": "again"}


def test_every_setting_of_policy_and_registry_is_in_the_request_or_its_job() -> None:
    members = {
        "sample": {"maxMessages": 500, "percent": 20, "since": "2m", "seed": 42},
        "tolerance": {"maxInvalidPerMillion": 7},
        "activeDeadlineSeconds": 7200,
        "ttlSecondsAfterFinished": 0,
    }
    there = at({"includeValues": True, "podTemplate": {"serviceAccountName": "reader", "image": "own:1"}})
    for validation, runs, sample, tolerance, others in (
        ({}, at(), Sample(None, 100, None, 0), 0, (False, 3600, 86_400, None, RUNTIME.image)),
        (members, there, Sample(500, 20, 120, 42), 7, (True, 7200, 0, "reader", "own:1")),
    ):
        settings = in_force(policy({"mode": "Gate", **validation}), runs)
        made = job_request(RequestSpec(NEXT, settings), {0: ONE.info}, TOPIC, IDENTITY)
        request, account = made.validation_request, made.template.service_account_name
        assert (request.sample, request.tolerance.max_invalid_per_million) == (sample, tolerance)
        deadline, ttl = made.active_deadline_seconds, made.ttl_seconds_after_finished
        assert (request.include_values, deadline, ttl, account, made.image) == others
        assert (made.owner, made.attempt, made.namespace, made.team) == (ME, 3, "topicschema-validation", "payments")


OAUTH2 = {"issuerURL": "https://issuer", "clientID": "reader", "secretRef": {"name": "s", "key": "f"}}


@pytest.mark.parametrize(
    ("authentication", "members", "names"),
    [
        (None, {}, {}),
        ({"token": {"secretRef": {"name": "s", "key": "jwt"}}}, {"token": "jwt"}, {"token_file": "/credentials/token"}),
        (
            {"tls": {"secretRef": {"name": "s"}}},
            {"tls.crt": "tls.crt", "tls.key": "tls.key"},
            {"certificate_file": "/credentials/tls.crt", "key_file": "/credentials/tls.key"},
        ),
        (
            {"oauth2": OAUTH2},
            {"secret": "f"},
            {"oauth2": OAuth2Flow("https://issuer", "reader", "/credentials/secret", "", "")},
        ),
    ],
)
def test_credentials_are_mounted_and_the_request_names_only_their_files(
    authentication: Any, members: dict[str, str], names: dict[str, str]
) -> None:
    admin = {"authentication": {"token": {"secretRef": {"name": "admin", "key": "token"}}}, "redirectHosts": ["*.p"]}
    there = at({"authentication": authentication} if authentication else {}, pulsar={**PULSAR, **admin})
    settings = in_force(policy({"mode": "Gate"}), there, ca=CA)
    pulsar = settings.source()["pulsar"]
    assert (pulsar.ca, pulsar.redirect_hosts) == (CA, ("*.p",))
    assert {name: getattr(pulsar, name) for name in names} == names
    assert [(mount.secret, mount.members) for mount in settings.mounts()] == ([("s", members)] if members else [])
