"""Errors while retained messages are read: reported with their place, in bounded time, and never a message twice.

A restarted broker needs some seconds.
"""

import asyncio
from pathlib import Path
from urllib.parse import parse_qsl

import pulsar as python
import pytest

from support.pulsar.fake_broker import run_fake_broker
from support.validation.topic_messages import RetainedTopic, contents, open_client, places, rows
from testbed import ports
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Access, Credentials
from topicschema.validation.errors import SourceError
from topicschema.validation.request import OAuth2Flow, PulsarSource
from topicschema.validation.sources import Expired
from topicschema.validation.sources.pulsar.errors import SourceRefusedError, SourceSilentError
from topicschema.validation.sources.pulsar.source import TopicMessages

pytestmark = [pytest.mark.timeout(300), pytest.mark.broker]


def _token(secured: Pulsar, folder: Path, token: str) -> PulsarSource:
    assert secured.credentials is not None
    (folder / "token").write_text(f"{token}\n")
    ca = secured.credentials.ca.read_text()
    return PulsarSource(secured.admin_url, secured.service_url, token_file=str(folder / "token"), ca=ca)


def _filled(secured: Pulsar, namespace: str) -> str:
    """Return a topic with three messages, sent by the superuser."""
    assert secured.credentials is not None
    who = secured.credentials.superuser
    client = python.Client(
        secured.service_url,
        authentication=python.AuthenticationTLS(str(who.certificate), str(who.key))
        if secured.credentials.access is Access.CERTIFICATE
        else python.AuthenticationToken(secured.credentials.tokens.superuser),
        tls_trust_certs_file_path=str(secured.credentials.ca),
        logger=python.ConsoleLogger(python.LoggerLevel.Error),
    )
    topic = f"persistent://{namespace}/orders"
    producer = client.create_producer(topic)
    for text in (b"1", b"2", b"3"):
        producer.send(text)
    client.close()
    return topic


def test_the_right_to_consume_is_enough_and_needed(
    secured_pulsar: Pulsar, secured_namespace: str, credentials: Credentials, tmp_path: Path
) -> None:
    topic = _filled(secured_pulsar, secured_namespace)
    source = TopicMessages(_token(secured_pulsar, tmp_path, credentials.tokens.ordinary), topic)
    with pytest.raises(SourceRefusedError, match="permission to consume"):
        source.plan()
    secured_pulsar.call("POST", f"{topic.replace('persistent://', '/persistent/')}/permissions/app", ["consume"])
    plan = source.plan()
    assert [row["payload"] for row in rows(source, plan)] == [b"1", b"2", b"3"]
    secured_pulsar.call("DELETE", f"{topic.replace('persistent://', '/persistent/')}/permissions/app")
    with pytest.raises(SourceRefusedError, match="permission to consume") as refused:
        rows(source, plan)
    assert credentials.tokens.ordinary not in str(refused.value)


def test_an_error_for_a_client_without_credentials_names_the_field(
    secured_pulsar: Pulsar, secured_namespace: str, credentials: Credentials, tmp_path: Path
) -> None:
    topic = _filled(secured_pulsar, secured_namespace)
    known = _token(secured_pulsar, tmp_path, credentials.tokens.superuser)
    anonymous = TopicMessages(PulsarSource(known.admin_url, known.service_url, ca=known.ca), topic)
    with pytest.raises(SourceRefusedError, match=r"no credentials: set validation\.authentication"):
        anonymous.plan()
    with pytest.raises(SourceRefusedError, match=r"the reader.* set validation\.authentication"):
        rows(anonymous, TopicMessages(known, topic).plan())


def test_a_token_that_has_expired_or_is_none_is_refused(
    secured_pulsar: Pulsar, secured_namespace: str, credentials: Credentials, tmp_path: Path
) -> None:
    topic = _filled(secured_pulsar, secured_namespace)
    expired = credentials.tokens.expired
    with pytest.raises(SourceRefusedError) as refused:
        TopicMessages(_token(secured_pulsar, tmp_path, expired), topic).plan()
    assert expired not in str(refused.value)
    with pytest.raises(SourceError, match="token"):
        TopicMessages(_token(secured_pulsar, tmp_path, ""), topic).plan()


def test_a_broker_with_the_certificate_of_an_unknown_ca_gets_no_request(
    secured_pulsar: Pulsar, credentials: Credentials, tmp_path: Path
) -> None:
    source = _token(secured_pulsar, tmp_path, credentials.tokens.superuser)
    with pytest.raises(SourceError, match="certificate"):
        TopicMessages(
            PulsarSource(source.admin_url, source.service_url, source.token_file), "persistent://t/n/x"
        ).plan()


def test_a_client_certificate_is_accepted_by_rest_and_protocol(certificate_pulsar: Pulsar) -> None:
    assert certificate_pulsar.credentials is not None
    who, ca = certificate_pulsar.credentials.superuser, certificate_pulsar.credentials.ca.read_text()
    files = {"certificate_file": str(who.certificate), "key_file": str(who.key), "ca": ca}
    source = PulsarSource(certificate_pulsar.admin_url, certificate_pulsar.service_url, **files)
    topic = _filled(certificate_pulsar, certificate_pulsar.create_namespace())
    assert [row["payload"] for row in rows(TopicMessages(source, topic))] == [b"1", b"2", b"3"]


async def test_tokens_of_an_issuer_are_accepted_by_rest_and_protocol(
    secured_pulsar: Pulsar, secured_namespace: str, credentials: Credentials, tmp_path: Path
) -> None:
    tokens, ca = credentials.tokens, credentials.ca.read_text()
    topic = _filled(secured_pulsar, secured_namespace)
    key = tmp_path / "secret"
    key.write_text("s3cret")
    async with run_fake_broker() as issuer:
        issuer.respond_with(
            200, {"token_endpoint": f"{issuer.url}/token", "access_token": tokens.superuser, "expires_in": 60}
        )
        flow = OAuth2Flow(issuer.url, "app", str(key), "urn:pulsar")
        source = PulsarSource(secured_pulsar.admin_url, secured_pulsar.service_url, oauth2=flow, ca=ca)
        messages = await asyncio.to_thread(rows, TopicMessages(source, topic))
        assert [row["payload"] for row in messages] == [b"1", b"2", b"3"]
        forms = [dict(parse_qsl(body)) for body in issuer.bodies if body]
        assert {(form["client_id"], form["client_secret"], form["audience"]) for form in forms} == {
            ("app", "s3cret", "urn:pulsar")
        }
        issuer.clear()
        issuer.respond_with(200, {"token_endpoint": f"{issuer.url}/token", "access_token": tokens.expired})
        with pytest.raises(SourceRefusedError) as refused:
            await asyncio.to_thread(rows, TopicMessages(source, topic))
        assert not any(secret in str(refused.value) for secret in (tokens.expired, "s3cret"))


def test_an_unreachable_broker_is_an_error(pulsar: Pulsar) -> None:
    nowhere = ports.free()
    with pytest.raises(SourceError, match=str(nowhere)):
        TopicMessages(PulsarSource(f"http://127.0.0.1:{nowhere}", pulsar.service_url), "persistent://t/n/x").plan()
    topic = RetainedTopic.create(pulsar)
    with open_client(pulsar) as client:
        topic.send(client, [b"1"])
    plan = topic.source().plan()
    unreachable = PulsarSource(pulsar.admin_url, f"pulsar://127.0.0.1:{nowhere}")
    with pytest.raises(SourceSilentError, match="refused"):
        rows(TopicMessages(unreachable, topic.full_name, timeout=2), plan)


def test_a_broker_that_starts_again_midway_costs_no_message_and_repeats_none(retaining_pulsar: Pulsar) -> None:
    """Wait for a JVM to start."""
    broker = retaining_pulsar
    topic = RetainedTopic.create(broker)
    payloads = [b"%d " % each + b"x" * 20_000 for each in range(1_500)]
    with open_client(broker) as client:
        topic.send(client, payloads, batching_enabled=True)
    source = topic.source(split_messages=10_000)
    (split,) = source.plan().splits
    reading = source.read(split)
    messages = next(reading).to_pylist()
    assert broker.program is not None
    broker.program.kill()
    broker.start()
    for batch in reading:
        assert not isinstance(batch, Expired)
        messages.extend(batch.to_pylist())
    assert contents(messages) == topic.sent
    assert len(set(places(messages))) == len(messages)


def test_what_was_removed_between_plan_and_reading_is_counted_as_gone(retaining_pulsar: Pulsar) -> None:
    broker = retaining_pulsar
    topic = RetainedTopic.create(broker)
    with open_client(broker) as client:
        topic.send(client, [b"%d" % each for each in range(120)])
    plan = topic.source(split_messages=1_000).plan()
    nothing = {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0}
    broker.call("POST", f"/namespaces/{topic.namespace}/retention", nothing)
    with open_client(broker) as client:
        topic.send(client, [b"later"])
    broker.call("DELETE", f"{topic.path}/truncate")
    parts = [each for split in plan.splits for each in topic.source().read(split)]
    messages = sum(len(each) for each in parts if not isinstance(each, Expired))
    assert sum(each.messages for each in parts if isinstance(each, Expired)) + messages == plan.messages == 120


def test_oauth2_needs_a_file_with_the_client_s_secret(tmp_path: Path) -> None:
    key = tmp_path / "secret"
    flow = OAuth2Flow("https://issuer.example", "app", str(key))
    for content in (None, ""):
        if content is not None:
            key.write_text(content)
        broker = PulsarSource("http://127.0.0.1:1", "pulsar://127.0.0.1:1", oauth2=flow)
        source = TopicMessages(broker, "persistent://t/n/x")
        with pytest.raises(SourceError, match="secret"):
            source.plan()
