"""The fault proxy before real brokers: what passes is what the broker says, and a lie is one."""

from dataclasses import replace

from support.pulsar.rest_topic import RestTopic, optional, record
from testbed import broker_faults, ports
from testbed.certificates import Authority
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar

_FIRST = record(optional("a"))


def test_schemas_pass_unchanged_and_each_call_is_counted(topic: RestTopic) -> None:
    with FaultProxy.before(topic.pulsar) as proxy:
        behind = RestTopic(replace(topic.pulsar, admin_url=proxy.url), topic.namespace, "a+b %")

        assert behind.uploaded(_FIRST) == 0
        assert behind.read().json["data"] == _FIRST
        assert behind.upload(record('{"name": "b", "type": "int"}')).status == 409

        assert [(call.method, call.status) for call in proxy.calls] == [("POST", 200), ("GET", 200), ("POST", 409)]
        assert len(proxy.writes) == 2
    assert RestTopic(topic.pulsar, topic.namespace, "a+b %").versions() == [0]


def test_a_yes_to_an_upload_may_be_a_lie(topic: RestTopic) -> None:
    with FaultProxy.before(topic.pulsar) as proxy:
        proxy.fault = broker_faults.stores_nothing()
        assert RestTopic(replace(topic.pulsar, admin_url=proxy.url), topic.namespace).uploaded(_FIRST) == 0

    assert topic.index() is None


def test_a_secured_broker_is_reached_with_the_callers_token(secured_pulsar: Pulsar, secured_namespace: str) -> None:
    credentials = secured_pulsar.credentials
    assert credentials is not None
    serving = Authority.at(credentials.ca.parent).issue("proxy", [ports.LOOPBACK])
    with FaultProxy.before(secured_pulsar, serving) as proxy:
        behind = replace(secured_pulsar, admin_url=proxy.url)

        assert RestTopic(behind, secured_namespace).uploaded(_FIRST) == 0
        assert behind.ask("GET", "/tenants", headers={"Authorization": "Bearer nobody"}).status == 401

        assert len({call.credential for call in proxy.calls}) == 2
