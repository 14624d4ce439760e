"""The rights that a SchemaRegistry gives, its address and version, and the Secrets that its client needs."""

from typing import Any

import pytest

from support.kubernetes.registries import observed, registry
from topicschema.api import bounds
from topicschema.api.registries import SchemaRegistry, SchemaRegistrySpec
from topicschema.api.wire import decode

LABELS = {"team": "shop", "stage": "prod"}


def stored(pulsar: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **spec: Any) -> SchemaRegistry:
    return decode(SchemaRegistry, {**registry("prod", pulsar, **spec), "status": status or {}})


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "is_selected"),
    [
        ({"matchNames": ["store", "shop"]}, True),
        ({"matchNames": ["store"]}, False),
        ({"matchLabels": {"team": "shop"}}, True),
        ({"matchLabels": {"team": "shop", "stage": "prod"}}, True),
        ({"matchLabels": {"team": "store"}}, False),
        ({"matchLabels": {"owner": "shop"}}, False),
        ({"matchNames": ["shop"], "matchLabels": {"team": "store"}}, False),
        ({"matchNames": ["store"], "matchLabels": {"team": "shop"}}, False),
        (requirement("team", "In", "store", "shop"), True),
        (requirement("team", "In", "store"), False),
        (requirement("owner", "In", "shop"), False),
        (requirement("team", "NotIn", "store"), True),
        (requirement("team", "NotIn", "shop"), False),
        (requirement("owner", "NotIn", "shop"), True),  # as in Kubernetes
        (requirement("team", "Exists"), True),
        (requirement("owner", "Exists"), False),
        (requirement("owner", "DoesNotExist"), True),
        (requirement("team", "DoesNotExist"), False),
        ({}, False),
        ({"matchNames": []}, False),
        ({"matchLabels": {}, "matchExpressions": []}, False),
    ],
)
def test_all_members_of_a_selector_must_match(selector: dict[str, Any], *, is_selected: bool) -> None:
    entry = {"namespaceSelector": selector, "pulsarNamespaces": ["shop/*"]}
    assert stored(allowedNamespaces=[entry]).allows("shop", LABELS, "shop/orders") is is_selected


@pytest.mark.parametrize(
    ("globs", "pulsar_namespace", "is_allowed"),
    [
        (["shop/*"], "shop/orders", True),
        (["shop/*"], "shops/orders", False),
        (["shop/orders"], "shop/orders", True),
        (["shop/orders"], "shop/orders-v2", False),
        (["*/orders"], "shop/orders", True),
        (["store/*", "shop/o*s"], "shop/orders", True),
        (["shop/."], "shop/o", False),
        ([], "shop/orders", False),
    ],
)
def test_the_globs_of_the_selected_entry_count(globs: list[str], pulsar_namespace: str, *, is_allowed: bool) -> None:
    mine = {"namespaceSelector": {"matchNames": ["shop"]}, "pulsarNamespaces": globs}
    theirs = {"namespaceSelector": {"matchNames": ["store"]}, "pulsarNamespaces": ["*/*"]}
    assert stored(allowedNamespaces=[theirs, mine]).allows("shop", {}, pulsar_namespace) is is_allowed


def test_without_an_entry_no_namespace_may() -> None:
    assert not stored(allowedNamespaces=[]).allows("shop", LABELS, "shop/orders")


def test_only_a_selector_of_labels_needs_them() -> None:
    for selector, needs in (
        ({"matchNames": ["shop"]}, False),
        ({"matchNames": ["shop"], "matchLabels": LABELS}, True),
        (requirement("team", "Exists"), True),
    ):
        entry = {"namespaceSelector": selector, "pulsarNamespaces": ["shop/*"]}
        assert stored(allowedNamespaces=[entry]).selects_by_labels is needs


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://pulsar", "pulsar:443"),
        ("http://pulsar/", "pulsar:80"),
        ("https://PULSAR.:8443", "pulsar:8443"),
        ("https://pulsar.ns.svc.cluster.local:8443", "pulsar.ns.svc:8443"),
        ("https://pulsar.ns.svc:8443", "pulsar.ns.svc:8443"),
        ("https://pulsar.cluster.local", "pulsar.cluster.local:443"),
    ],
)
def test_one_broker_has_one_address(url: str, address: str) -> None:
    assert stored({"adminURL": url}).address == address


def test_the_version_is_the_reported_one_else_that_of_the_spec() -> None:
    pulsar = {"adminURL": "https://pulsar:8443"}
    named = {**pulsar, "version": "4.1"}
    assert (stored().address, stored().version) == ("", None)
    assert stored(status=observed("pulsar:8443")).version is None
    assert stored(pulsar).version is None
    assert stored(named).version == "4.1"
    assert stored(named, observed("pulsar:8443")).version == "4.0.7"
    assert stored(named, observed("former:8443")).version == "4.1"  # that was another broker
    assert stored(named, {"observed": {"address": "pulsar:8443"}}).version == "4.1"


def test_the_secrets_of_the_client_are_those_of_the_broker_s_fields() -> None:
    ref = {"name": "a", "key": "k"}
    pulsar = {"adminURL": "https://pulsar"}
    assert stored().secrets == stored(pulsar).secrets == frozenset()
    assert stored({**pulsar, "tls": {"caSecretRef": ref}}).secrets == {"a"}
    for credentials in (
        {"token": {"secretRef": ref}},
        {"oauth2": {"issuerURL": "https://issuer", "clientID": "c", "secretRef": ref}},
        {"tls": {"secretRef": {"name": "a"}}},
    ):
        assert stored({**pulsar, "authentication": credentials}).secrets == {"a"}
        both = {**pulsar, "authentication": credentials, "tls": {"caSecretRef": {"name": "b", "key": "k"}}}
        assert stored(both).secrets == {"a", "b"}
        assert stored(pulsar, validation={"authentication": credentials}).secrets == frozenset()


@pytest.mark.parametrize(
    ("host", "is_valid"),
    [
        ("pulsar", True),
        ("pulsar:8443", True),
        ("*.pulsar-broker.pulsar.svc.cluster.local:8443", True),
        ("[2001:db8::1]:8443", True),
        ("[2001:db8::1]", True),
        ("https://pulsar", False),
        ("pulsar/admin", False),
        ("pulsar:port", False),
        ("a b", False),
        ("\\[::1]", False),
    ],
)
def test_a_redirect_host_is_a_host_with_perhaps_a_port(host: str, *, is_valid: bool) -> None:
    spec = registry("prod", {"adminURL": "https://pulsar", "redirectHosts": [host]})["spec"]
    assert (list(bounds.faults(SchemaRegistrySpec, spec, "spec")) == []) is is_valid


@pytest.mark.parametrize(
    ("amount", "number"),
    [(4096, 4096), ("512Mi", 512 << 20), ("1.5Gi", 3 << 29), ("2k", 2000), ("0.3Ki", 307), ("7", 7), ("many", 0)],
)
def test_a_limit_is_a_quantity(amount: int | str, number: int) -> None:
    wire = {"metadata": {"name": "prod"}, "spec": {"limits": {"bytes": amount}}}
    assert decode(SchemaRegistry, wire).limit_bytes == number
    assert decode(SchemaRegistry, {**wire, "spec": {}}).limit_bytes is None
