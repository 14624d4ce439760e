"""Registries that the API server must refuse or accept, as in wrong_objects."""

from typing import Any

from cluster.wrong_objects import ABSENT, Row, changed, wrong

_URL = "spec.pulsar.adminURL"
_IDENTITY = "spec.pulsar.authentication"
_RUNS = "spec.validation"
_TOKEN = {"token": {"secretRef": {"name": "pulsar", "key": "token"}}}
_READER = {"token": {"secretRef": {"name": "reader", "key": "token"}}}
_TRUST = {"caSecretRef": {"name": "pulsar", "key": "ca.crt"}}
_OAUTH2 = {
    "issuerURL": "https://login.example/realms/pulsar",
    "clientID": "topicschema",
    "audience": "urn:pulsar:prod",
    "scope": "admin schemas",
    "secretRef": {"name": "pulsar", "key": "client-secret"},
}
_CERTIFICATE = {"tls": {"secretRef": {"name": "topicschema-client"}}}
_BY_LABELS = {
    "matchLabels": {"team": "shop"},
    "matchExpressions": [{"key": "stage", "operator": "In", "values": ["prod", "test"]}],
}
_SPEC: dict[str, Any] = {
    "pulsar": {
        "adminURL": "https://pulsar-admin.pulsar.svc:8443",
        "serviceURL": "pulsar+ssl://a:6651,b:6651",
        "authentication": _TOKEN,
        "tls": _TRUST,
        "redirectHosts": ["*.pulsar-broker.pulsar.svc.cluster.local:8443", "[fd00::7]:8443", "broker-1"],
        "version": "4.0",
    },
    "allowedNamespaces": [
        {"namespaceSelector": {"matchNames": ["shop"]}, "pulsarNamespaces": ["shop/*", "public/default"]},
        {"namespaceSelector": _BY_LABELS, "pulsarNamespaces": ["shop/*"]},
    ],
    "limits": {"bytes": "512Mi"},
    "validation": {
        "authentication": _READER,
        "maxExecutors": 8,
        "destination": "s3://audit/production",
        "includeValues": True,
        "teamLabel": "example.com/team",
        "podTemplate": {
            "image": "registry.test:5000/validation:1@sha256:ab",
            "serviceAccountName": "reader",
            "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1.5Gi"}},
            "nodeSelector": {"disk": "ssd"},
            "labels": {"cost-center": "7"},
            "annotations": {"example.com/note": "of the platform team"},
            "tolerations": [{"key": "batch", "operator": "Exists", "effect": "NoSchedule"}],
        },
    },
}
REGISTRY = {
    "apiVersion": "topicschema.io/v1alpha1",
    "kind": "SchemaRegistry",
    "metadata": {"name": "crds"},
    "spec": _SPEC,
}
_PLAIN = changed(REGISTRY, "spec.pulsar", {"adminURL": "http://pulsar:8080"})

_HOST = "write https://HOST:PORT"
_ALLOWED = "spec.allowedNamespaces"
_LIMITS = f"{_RUNS}.podTemplate.resources.limits"
_TOLERATIONS = f"{_RUNS}.podTemplate.tolerations"


def _allowed(member: str, value: Any) -> list[dict[str, Any]]:
    """Return the first entry with that member changed."""
    return [changed(_SPEC["allowedNamespaces"][0], member, value)]


WRONG_REGISTRIES = [
    *(
        wrong(f"the address {address!r}", REGISTRY, _URL, address, _HOST)
        for address in (
            "https://",
            "https://user:secret@pulsar:8443",
            "https://user@pulsar:8443",
            "https://pulsar:8443?token=secret",
            "https://pulsar:8443/?a",
            "https://pulsar:8443/#top",
            "https://pulsar:8443/admin/v2",
            "https://pulsar:84430000",
            "https://pulsar:",
            "https://pul sar",
            "https://pulsar\n",
            "https://pulsar\\@evil",
            "https://größe.example",
            "https://[::1",
            "HTTPS://pulsar",
            "https://-pulsar",
        )
    ),
    wrong("no address", REGISTRY, _URL, ABSENT, "Required value"),
    wrong("an address of another protocol", _PLAIN, _URL, "pulsar://pulsar:6650", _HOST),
    wrong("clients by http", REGISTRY, "spec.pulsar.serviceURL", "http://a:80", "pulsar://"),
    wrong("clients with a user", REGISTRY, "spec.pulsar.serviceURL", "pulsar://u@a:80", "HOST"),
    wrong("no identity", REGISTRY, _IDENTITY, {}, "one of token, oauth2 and tls"),
    Row("two identities", REGISTRY, f"{_IDENTITY}.oauth2", _OAUTH2, _IDENTITY, "give one of"),
    wrong("a token of no Secret", REGISTRY, f"{_IDENTITY}.token.secretRef", ABSENT, "Required value"),
    wrong("a Secret elsewhere", REGISTRY, f"{_IDENTITY}.token.secretRef.name", "kube-system/admin", "should match"),
    wrong("a path for a key", REGISTRY, f"{_IDENTITY}.token.secretRef.key", "../token", "should match"),
    Row("an issuer with a user", REGISTRY, _IDENTITY,
        {"oauth2": _OAUTH2 | {"issuerURL": "https://a:b@login.example"}},
        f"{_IDENTITY}.oauth2.issuerURL", "without user"),
    Row("a client without an id", REGISTRY, _IDENTITY, {"oauth2": _OAUTH2 | {"clientID": ""}},
        f"{_IDENTITY}.oauth2.clientID", "at least 1 char"),
    wrong("a certificate over http", _PLAIN, _IDENTITY, _CERTIFICATE, "requires https"),
    wrong("trust over http", _PLAIN, "spec.pulsar.tls", _TRUST, "requires https"),
    *(
        Row(f"a redirect to {host!r}", REGISTRY, "spec.pulsar.redirectHosts", [host],
            "spec.pulsar.redirectHosts[0]", "write HOST or HOST:PORT")
        for host in ("https://broker:8443", "user@broker", "broker:8443/admin", "", "[fd00::7", "bro ker")
    ),
    Row("a redirect host twice", REGISTRY, "spec.pulsar.redirectHosts", ["a", "a"],
        "spec.pulsar.redirectHosts[1]", "Duplicate value"),
    wrong("a Pulsar version that is none", REGISTRY, "spec.pulsar.version", "2.8", "Unsupported value"),
    wrong("a limit in another unit", REGISTRY, "spec.limits.bytes", "512MB", "should match"),
    Row("no namespace selected", REGISTRY, _ALLOWED, _allowed("namespaceSelector", {}),
        f"{_ALLOWED}[0].namespaceSelector", "select by matchNames"),
    Row("an entry without a selector", REGISTRY, _ALLOWED, _allowed("namespaceSelector", ABSENT),
        f"{_ALLOWED}[0].namespaceSelector", "Required value"),
    Row("an entry without Pulsar namespaces", REGISTRY, _ALLOWED, _allowed("pulsarNamespaces", ABSENT),
        f"{_ALLOWED}[0].pulsarNamespaces", "Required value"),
    *(
        Row(f"the Pulsar namespace {glob!r}", REGISTRY, _ALLOWED, _allowed("pulsarNamespaces", [glob]),
            f"{_ALLOWED}[0].pulsarNamespaces[0]", "write TENANT/NAMESPACE")
        for glob in ("*", "shop", "shop/orders/created", "shop/[a-z]", "/orders")
    ),
    Row("a namespace that has no such name", REGISTRY, _ALLOWED,
        _allowed("namespaceSelector", {"matchNames": ["Shop"]}),
        f"{_ALLOWED}[0].namespaceSelector.matchNames[0]", "should match"),
    Row("an operator that is none", REGISTRY, _ALLOWED,
        _allowed("namespaceSelector", {"matchExpressions": [{"key": "a", "operator": "Like"}]}),
        f"{_ALLOWED}[0].namespaceSelector.matchExpressions[0].operator", "Unsupported value"),
    wrong("readers without an identity", REGISTRY, f"{_RUNS}.authentication", {}, "one of token, oauth2 and tls"),
    wrong("too many executors", REGISTRY, f"{_RUNS}.maxExecutors", 65, "less than or equal to 64"),
    wrong("a destination on a node", REGISTRY, f"{_RUNS}.destination", "file:///tmp", "s3://"),
    *(
        wrong(f"the destination {uri}", REGISTRY, f"{_RUNS}.destination", uri, "without empty parts")
        for uri in ("s3:///audit", "s3://audit//prod", "s3://audit/../prod", "s3://audit/.?region=a", "s3://audit/a#b")
    ),
    wrong("a resource of the host", REGISTRY, _LIMITS, {"nvidia.com/gpu": "1"}, "cpu, memory and ephemeral-storage"),
    wrong("an amount that is none", REGISTRY, f"{_LIMITS}.memory", "much", "should match"),
    wrong("an image with a space", REGISTRY, f"{_RUNS}.podTemplate.image", "a b", "should match"),
    Row("an effect that is none", REGISTRY, _TOLERATIONS, [{"effect": "No"}], f"{_TOLERATIONS}[0].effect",
        "NoSchedule"),
]  # fmt: skip

RIGHT_REGISTRIES = [
    Row("a registry with every field", REGISTRY, "metadata.labels", {}),
    Row("the operator's own store", REGISTRY, "spec", {}),
    Row("a broker over http", _PLAIN, "metadata.labels", {}),
    Row("a token over http", _PLAIN, _IDENTITY, _TOKEN),
    Row("OAuth 2.0", REGISTRY, _IDENTITY, {"oauth2": _OAUTH2}),
    Row("a client certificate", REGISTRY, _IDENTITY, _CERTIFICATE),
    Row("readers with a certificate", REGISTRY, f"{_RUNS}.authentication", _CERTIFICATE),
    Row("runs without a field", REGISTRY, _RUNS, {}),
    Row("one host for clients", REGISTRY, "spec.pulsar.serviceURL", "pulsar://127.0.0.1:6650/"),
    *(
        Row(f"the address {address}", REGISTRY, _URL, address)
        for address in (
            "https://pulsar",
            "https://pulsar/",
            "https://10.0.0.7:8443",
            "https://[fd00::7]:8443/",
            "https://pulsar_admin.Example:443",
        )
    ),
]

RIGHT_REGISTRY_EDITS = [
    Row("another address", REGISTRY, _URL, "https://elsewhere:8443"),
    Row("no broker any more", REGISTRY, "spec.pulsar", ABSENT),
    Row("no namespace allowed any more", REGISTRY, _ALLOWED, []),
]
