"""The effective settings and the request by them: the topic's fields win, and an equal request has an equal hash."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from support.schemas.examples import ME, history, record
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.core.history import Origin
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.schemas import PulsarVersion
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict
from topicschema.judging.policies import ActivePolicy
from topicschema.judging.policy_rules import policy_of
from topicschema.reconcile.validation.settings import (
    EffectiveSettings,
    RequestSpec,
    ValidationTarget,
    effective,
    job_request,
)
from topicschema.validation.request import Sample

ONE, TWO = record("id"), record("id", "note?")
FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
PULSAR = {"adminURL": "https://pulsar:8443", "serviceURL": "pulsar+ssl://pulsar:6651"}
NEXT = ValidationTarget(TWO.info, history(ONE), Verdict(Outcome.NEXT_VERSION, FULL, 1), PulsarVersion.V4_0)
IMAGE = "validation:1"
TOPIC = "persistent://shop/orders/created"
HOSTS = AllowedHosts.parse("pulsar, away:6651")


def policy(validation: Mapping[str, Any] | None, status: Mapping[str, Any] | None = None, **spec: Any) -> ActivePolicy:
    members = {"pulsarCluster": "p", "pulsarNamespace": "shop/orders", "pulsar": PULSAR, **spec}
    members |= {} if validation is None else {"validation": validation}
    wire = {"metadata": {"name": "orders"}, "spec": members, "status": status or {}}
    resource = decode(NamespaceSchemaPolicy, wire)
    return ActivePolicy(resource, policy_of(resource))


def topic(validation: Mapping[str, Any] | None = None) -> TopicSchema:
    spec = {"topic": TOPIC, "type": "AVRO", **({"validation": validation} if validation else {})}
    return decode(TopicSchema, {"metadata": {"name": "created"}, "spec": spec})


def in_force(active: ActivePolicy, resource: TopicSchema | None = None) -> EffectiveSettings:
    settings = effective(active, resource or topic(), IMAGE, HOSTS)
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
    settings = effective(policy(of_policy), topic(of_topic), IMAGE, HOSTS)
    assert (None if settings is None else settings.mode) == mode


def test_a_field_of_the_topic_leaves_the_policys_other_fields() -> None:
    of_policy = {
        "mode": "Gate",
        "executors": 2,
        "sample": {"percent": 10},
        "template": {"serviceAccountName": "reader"},
    }
    settings = in_force(policy(of_policy), topic({"sample": {"maxMessages": 5}}))
    assert (settings.spec.executors, settings.template.service_account_name) == (2, "reader")
    assert settings.spec.sample is not None
    assert (settings.spec.sample.max_messages, settings.spec.sample.percent) == (5, None)


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
    assert in_force(policy({"mode": "Gate"}, pulsar=None)).is_locked


FILES = {"source": {"files": {"uri": "s3://a/b"}}}


@pytest.mark.parametrize(
    ("validation", "pulsar", "parts"),
    [
        ({}, PULSAR, ()),
        ({}, None, ("spec.pulsar.serviceURL",)),
        (FILES, None, ()),
        ({"executors": 1}, PULSAR, ("serviceAccountName",)),
        *(
            (validation, {**PULSAR, "serviceURL": url}, parts)
            for validation, parts in (({}, ("serviceURL", "TOPICSCHEMA_BROKER_HOSTS")), (FILES, ()))
            for url in ("pulsar://away", "pulsar+ssl://pulsar,elsewhere:6651", "pulsar://127.0.0.1")
        ),
        *(
            ({}, {**PULSAR, "serviceURL": url}, ())
            for url in ("pulsar://pulsar", "pulsar+ssl://away", "pulsar+ssl://pulsar:1,away:6651/")
        ),
    ],
)
def test_a_reason_names_what_is_missing_or_not_allowed(
    validation: dict[str, Any], pulsar: dict[str, str] | None, parts: tuple[str, ...]
) -> None:
    why = in_force(policy({"mode": "Gate", **validation}, pulsar=pulsar)).invalid_reason
    assert all(part in why for part in parts)
    assert bool(why) == bool(parts)
    uninstalled = effective(policy({"mode": "Gate", **validation}, pulsar=pulsar), topic(), "", HOSTS)
    assert uninstalled is not None
    assert "TOPICSCHEMA_VALIDATION_IMAGE" in uninstalled.invalid_reason


def test_the_hash_of_a_request_covers_what_is_read_and_not_how() -> None:
    base = {"mode": "Gate", "executors": 0}
    same = RequestSpec(NEXT, in_force(policy(base))).hash
    for others in ({"mode": "Report"}, {"executors": 0, "template": {"image": "x"}}, {"activeDeadlineSeconds": 5}):
        assert RequestSpec(NEXT, in_force(policy({**base, **others}))).hash == same
    after = NEXT.history.with_version(TWO, Origin.SPEC, "2026-11-21T06:00:00Z")
    registered = replace(NEXT, history=after, verdict=Verdict(Outcome.EQUAL_VERSION, FULL, 1))
    assert RequestSpec(registered, in_force(policy(base))).hash == same
    for others in ({"sample": {"percent": 5}}, {"tolerance": {"maxInvalidPerMillion": 1}}, {"includeValues": True}):
        assert RequestSpec(NEXT, in_force(policy({**base, **others}))).hash != same
    assert (
        RequestSpec(NEXT, in_force(policy(base, pulsar={**PULSAR, "serviceURL": "pulsar://other:6650"}))).hash != same
    )
    assert RequestSpec(NEXT, in_force(policy(base)), "again").hash != same
    for other in (replace(NEXT, history=history()), replace(NEXT, schema=ONE.info)):
        assert RequestSpec(other, in_force(policy(base))).hash != same


def test_the_hash_of_a_run_changes_with_what_may_repair_a_failed_run() -> None:
    plain = in_force(policy({"mode": "Gate"})).run_hash
    for edited in ({"template": {"resources": {"limits": {"memory": "4Gi"}}}}, {"activeDeadlineSeconds": 7200}):
        assert in_force(policy({"mode": "Gate", **edited})).run_hash != plain
    assert in_force(policy({"mode": "Gate"}, pulsar={**PULSAR, "adminURL": "https://pulsar:443"})).run_hash != plain
    ref, hashes = {"name": "reader", "key": "key.json"}, set()
    for issuer in ("https://a", "https://b"):
        oauth2 = {"issuerURL": issuer, "secretKeyRef": ref}
        hashes.add(in_force(policy({"mode": "Gate", "authentication": {"oauth2": oauth2}})).run_hash)
    assert len(hashes) == 2


def test_the_request_has_every_version_and_the_candidate_under_its_number() -> None:
    run = RequestSpec(NEXT, in_force(policy({"mode": "Gate"})), "again")
    request = job_request(run, {0: ONE.info}, ME, TOPIC, 3).validation_request
    assert (request.versions, request.candidate) == ({0: ONE.info, 1: TWO.info}, TWO.info)
    assert request.labels == {"revalidate": "again"}


def test_every_setting_of_the_policy_is_in_the_request_or_its_job() -> None:
    members = {
        "sample": {"maxMessages": 500, "percent": 20, "since": "2m", "seed": 42},
        "tolerance": {"maxInvalidPerMillion": 7},
        "includeValues": True,
        "executors": 3,
        "activeDeadlineSeconds": 7200,
        "ttlSecondsAfterFinished": 0,
        "template": {"serviceAccountName": "reader"},
    }
    for validation, sample, tolerance, others in (
        ({}, Sample(None, 100, None, 0), 0, (False, 0, 3600, 86_400, None)),
        (members, Sample(500, 20, 120, 42), 7, (True, 3, 7200, 0, "reader")),
    ):
        made = job_request(
            RequestSpec(NEXT, in_force(policy({"mode": "Gate", **validation}))), {0: ONE.info}, ME, TOPIC, 3
        )
        request, account = made.validation_request, made.template.service_account_name
        assert (request.sample, request.tolerance.max_invalid_per_million) == (sample, tolerance)
        deadline, ttl = made.active_deadline_seconds, made.ttl_seconds_after_finished
        assert (request.include_values, request.executors, deadline, ttl, account) == others
        assert (made.attempt, made.image) == (3, IMAGE)


@pytest.mark.parametrize(
    ("authentication", "members", "names"),
    [
        (None, {}, {}),
        (
            {"token": {"secretKeyRef": {"name": "s", "key": "jwt"}}},
            {"token": "jwt"},
            {"token_file": "/credentials/token"},
        ),
        (
            {"tls": {"secretRef": {"name": "s"}}},
            {"tls.crt": "tls.crt", "tls.key": "tls.key"},
            {"certificate_file": "/credentials/tls.crt", "key_file": "/credentials/tls.key"},
        ),
        ({"oauth2": {"issuerURL": "https://issuer", "secretKeyRef": {"name": "s", "key": "f"}}}, {"key.json": "f"}, {}),
    ],
)
def test_credentials_are_mounted_and_the_request_names_only_their_files(
    authentication: Any, members: dict[str, str], names: dict[str, str]
) -> None:
    validation = {"mode": "Gate", **({"authentication": authentication} if authentication else {})}
    secured = {**PULSAR, "tls": {"caSecretKeyRef": {"name": "trust", "key": "ca.pem"}}}
    settings = in_force(policy(validation, pulsar=secured))
    pulsar = settings.source()["pulsar"]
    assert pulsar.ca_file == "/trust/ca.crt"
    assert {name: getattr(pulsar, name) for name in names} == names
    assert [mount.members for mount in settings.mounts()] == ([members] if members else []) + [{"ca.crt": "ca.pem"}]
    if authentication and "oauth2" in authentication:
        assert pulsar.oauth2.key_file == "/credentials/key.json"
