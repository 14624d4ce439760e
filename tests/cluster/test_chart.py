"""The chart: its objects, the values that it refuses, and the answers of a real API server.

Helm installs a release several times in a test, in about a second each time.
"""

import base64
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from testbed import helm, install
from testbed.cluster import Cluster
from testbed.controlplane import owned
from testbed.errors import TestbedError
from topicschema.settings import ServerSettings, Settings

pytestmark = pytest.mark.cluster  # a cluster of its own, which no fixture's name shows

NAMESPACE = "schemas"
CERTIFICATE = "secret/topicschema-webhook-tls"
AUTHORITY = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
RENEWAL = "topicschema.io/renewed-after"
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"
DEFAULTS_THAT_THE_CHART_NAMES = {
    "TOPICSCHEMA_BROKER_REQUESTS_PER_SECOND",
    "TOPICSCHEMA_LOG_LEVEL",
    "TOPICSCHEMA_REGISTRY_REQUESTS_PER_SECOND",
    "TOPICSCHEMA_VALIDATION_JOBS",
    "TOPICSCHEMA_VALIDATION_JOBS_PER_NAMESPACE",
    "TOPICSCHEMA_VALIDATION_NAMESPACE",
}
REFUSED = {
    "a value that is none": {"webhoook": {"replicas": 1}},
    "one of a process that is none": {"webhook": {"replics": 1}},
    "hosts, which the registries name": {"brokers": {"allowedHosts": ["a:1"]}},
    "a namespace that has no such name": {"validation": {"namespace": "Validation"}},
    "a broker that gets no request": {"brokers": {"requestsPerSecond": 0}},
    "a level that no process takes": {"controller": {"logLevel": "CRITICAL"}},
    "a Secret without its CA": {"webhook": {"certificate": {"source": "Secret"}}},
    "a CA that is not base64": {"webhook": {"certificate": {"source": "Secret", "caBundle": "-----BEGIN"}}},
    "an issuer without a name": {
        "webhook": {"certificate": {"source": "CertManager", "issuerRef": {"kind": "Issuer"}}}
    },
    "days that no certificate has": {"webhook": {"certificate": {"days": 200_000}}},
    "a part that is taken away": {"brokers": None},
    "a time that no API server waits": {"webhook": {"timeoutSeconds": 31}},
    "a database without its Secret": {"schemaRegistryStorage": {"name": "postgresql"}},
    "an authority that is no certificate": {"webhook": {"clientCA": "/etc/ca.crt"}},
    "an address that is no block": {"webhook": {"networkPolicy": {"apiServerCIDRs": ["10.0.0.10"]}}},
}


@pytest.fixture(scope="module")
def spare() -> Iterator[Cluster]:
    """Yield a cluster of its own: no process serves the webhooks that the chart configures."""
    with owned() as plane:
        plane.cluster.kubectl("create", "namespace", NAMESPACE)
        plane.cluster.kubectl("label", "namespace", NAMESPACE, RESTRICTED)
        yield plane.cluster


def test_the_chart_makes_what_kustomize_makes(cluster: Cluster) -> None:
    theirs = install.render(cluster, helm.CHART.parents[1] / "manifests" / "base")
    ours = helm.render({"crds": {"install": False}}, "topicschema-system")
    ours = [each for each in ours if each["kind"] != "Secret"]
    assert plain(ours) == plain([each for each in theirs if each["metadata"]["name"] != "topicschema-system"])


def test_the_registry_is_the_components_and_nothing_of_it_is_there_by_default() -> None:
    folder = helm.CHART.parents[1] / "manifests" / "components" / "registry"
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("rbac.yaml", "registry.yaml")]
    theirs = [each for text in texts for each in yaml.safe_load_all(text)]
    peers = [{"namespaceSelector": {}}]
    values = {"enabled": True, "requestsPerSecond": 1_000_000, "networkPolicy": {"from": peers}}
    ours = helm.render({"registry": values}, "topicschema-system")
    made = [each for each in ours if each["metadata"]["name"] == "topicschema-registry"]
    (policy,) = [each for each in made if each["kind"] == "NetworkPolicy"]
    assert policy["spec"]["ingress"][0]["from"] == peers
    (deployment,) = [each for each in made if each["kind"] == "Deployment"]
    limit = {"name": "TOPICSCHEMA_REGISTRY_REQUESTS_PER_SECOND", "value": "1000000"}
    assert limit in deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    assert plain([each for each in made if each is not policy]) == plain(theirs)
    names = {each["metadata"]["name"] for each in helm.render({}, "topicschema-system")}
    assert "topicschema-registry" not in names


def test_crds_are_the_generated_ones_and_stay_when_the_release_goes() -> None:
    crds = [each for each in helm.render({}, NAMESPACE) if each["kind"] == "CustomResourceDefinition"]
    assert len(crds) == len(list((helm.CHART.parents[1] / "crds").glob("*.yaml")))
    assert all(each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for each in crds)


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_values_that_mean_nothing_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(TestbedError, match="values don't meet the specifications"):
        helm.render(values, NAMESPACE)


def test_numbers_reach_the_controller_as_they_were_written() -> None:
    validation = {"jobs": 1_000_000, "jobsPerNamespace": 1_000_000}
    made = helm.render({"validation": validation, "brokers": {"requestsPerSecond": 5}}, NAMESPACE)
    settings = Settings.load(controller_environment(made))
    assert (settings.validation.jobs, settings.broker_requests) == (1_000_000, 5)


def test_both_processes_use_the_database_of_the_secret() -> None:
    storage = {"name": "postgresql", "secretRef": {"name": "database", "key": "url"}}
    documents = helm.render({"schemaRegistryStorage": storage}, "topicschema-system")
    pods = [each["spec"]["template"]["spec"] for each in documents if each["kind"] == "Deployment"]
    assert len(pods) == 2
    for pod in pods:
        (container,) = pod["containers"]
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert environment["TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE"] == "postgresql"
        assert environment["TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL_FILE"] == "/storage/url"
        assert {"name": "storage", "mountPath": "/storage", "readOnly": True} in container["volumeMounts"]
        assert {"name": "storage", "secret": {"secretName": "database"}} in pod["volumes"]


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_namespace_of_validation_and_the_rights_there_exist_only_if_it_is_enabled(*, is_enabled: bool) -> None:
    made = helm.render({"validation": {"enabled": is_enabled}}, NAMESPACE)
    bound = {each["metadata"]["name"] for each in made if each["kind"] == "ClusterRoleBinding"}
    assert bound >= {"topicschema-controller", "topicschema-webhook"}
    assert ("topicschema-controller-validation" in bound) is is_enabled
    namespaces = {each["metadata"].get("namespace") for each in made} - {None}
    assert namespaces == ({NAMESPACE, "topicschema-validation"} if is_enabled else {NAMESPACE})
    assert ("TOPICSCHEMA_VALIDATION_IMAGE" in controller_environment(made)) is is_enabled


def test_all_of_validation_is_in_the_namespace_that_the_values_name() -> None:
    made = helm.render({"validation": {"namespace": "checks"}}, NAMESPACE)
    assert Settings.load(controller_environment(made)).validation.namespace == "checks"
    (namespace,) = [each for each in made if each["kind"] == "Namespace"]
    assert namespace["metadata"]["name"] == "checks"
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    inside = {
        (each["kind"], each["metadata"]["name"]) for each in made if each["metadata"].get("namespace") == "checks"
    }
    assert inside == {
        ("ServiceAccount", "topicschema-validation"),
        ("Role", "topicschema-validation"),
        ("RoleBinding", "topicschema-validation"),
        ("Role", "topicschema-controller-validation"),
        ("RoleBinding", "topicschema-controller-validation"),
        ("NetworkPolicy", "topicschema-validation"),
    }
    bindings = {each["metadata"]["name"]: each["subjects"] for each in made if each["kind"] == "RoleBinding"}
    assert [each["namespace"] for each in bindings["topicschema-validation"]] == ["checks"]
    assert [each["namespace"] for each in bindings["topicschema-controller-validation"]] == [NAMESPACE]


def test_cert_manager_issues_the_certificate_that_the_webhook_mounts() -> None:
    made = {
        each["kind"]: each for each in helm.render({"webhook": {"certificate": {"source": "CertManager"}}}, NAMESPACE)
    }
    assert "Secret" not in made
    assert made["Certificate"]["spec"]["secretName"] == "topicschema-webhook-tls"
    assert made["Certificate"]["spec"]["issuerRef"]["name"] == made["Issuer"]["metadata"]["name"]
    annotations = made["ValidatingWebhookConfiguration"]["metadata"]["annotations"]
    assert annotations == {"cert-manager.io/inject-ca-from": f"{NAMESPACE}/topicschema-webhook"}


def test_a_client_authority_is_mounted_as_the_component_of_kustomize_mounts_it(
    cluster: Cluster, tmp_path: Path
) -> None:
    manifests = os.path.relpath(helm.CHART.parents[1] / "manifests", tmp_path.resolve())
    kustomization = {"resources": [f"{manifests}/base"], "components": [f"{manifests}/components/client-ca"]}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(kustomization))
    theirs = plain(
        [each for each in install.render(cluster, tmp_path) if each["metadata"]["name"] != "topicschema-system"]
    )
    made = helm.render({"crds": {"install": False}, "webhook": {"clientCA": AUTHORITY}}, "topicschema-system")
    ours = plain([each for each in made if each["kind"] != "Secret"])
    assert ours.pop(("ConfigMap", "topicschema-webhook-client-ca"))["data"] == {"ca.crt": AUTHORITY}
    assert ours == theirs
    [container] = ours["Deployment", "topicschema-webhook"]["spec"]["template"]["spec"]["containers"]
    environment = {name: each.get("value", "") for name, each in container["env"].items()}
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    assert str(ServerSettings.load(environment).client_ca.parent) in mounts


def test_a_network_policy_lets_the_api_server_reach_the_webhook_and_all_clients_the_probes(spare: Cluster) -> None:
    assert not [each for each in helm.render({}, NAMESPACE) if is_network_policy_of_the_webhook(each)]
    blocks = ["10.0.0.10/32", "fd00::/64"]
    made = plain(helm.render({"webhook": {"networkPolicy": {"apiServerCIDRs": blocks}}}, NAMESPACE))
    policy = made["NetworkPolicy", "topicschema-webhook"]
    spare.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(policy))
    template = made["Deployment", "topicschema-webhook"]["spec"]["template"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    numbers = {each["name"]: each["containerPort"] for each in template["spec"]["containers"][0]["ports"]}
    allowed = {numbers[each["ports"][0]["port"]]: each.get("from") for each in policy["spec"]["ingress"]}
    assert allowed == {9443: [{"ipBlock": {"cidr": block}} for block in blocks], 8081: None}


def is_network_policy_of_the_webhook(wire: dict[str, Any]) -> bool:
    return (wire["kind"], wire["metadata"]["name"]) == ("NetworkPolicy", "topicschema-webhook")


def test_a_release_is_taken_by_a_restricted_namespace_and_its_certificate_outlives_an_upgrade(spare: Cluster) -> None:
    helm.install(spare, {}, NAMESPACE)
    first = trust(spare)
    helm.install(spare, {"webhook": {"replicas": 3}, "registry": {"enabled": True}}, NAMESPACE)
    assert trust(spare) == first
    for role in ("controller", "webhook", "registry"):
        selector = f"app.kubernetes.io/name=topicschema-{role}"
        spare.kubectl("-n", NAMESPACE, "wait", "--for=create", "pod", "-l", selector)
    deployment = spare.get("-n", NAMESPACE, "deployment", "topicschema-webhook")
    assert deployment["spec"]["replicas"] == 3
    helm.uninstall(spare, NAMESPACE)
    assert spare.get("crd", "topicschemas.topicschema.io")["metadata"]["name"]
    assert spare.try_kubectl("get", "validatingwebhookconfiguration", "topicschema").returncode


def test_a_certificate_is_renewed_when_two_thirds_of_its_days_are_over(spare: Cluster) -> None:
    short = {"webhook": {"certificate": {"days": 3}}}
    helm.install(spare, short, NAMESPACE)
    first = trust(spare)
    until = datetime.fromisoformat(renewal(spare))
    assert timedelta(hours=47) < until - datetime.now(UTC) <= timedelta(hours=48)
    expire(spare)
    helm.install(spare, short, NAMESPACE)
    second = trust(spare)
    assert second["tls.crt"] != first["tls.crt"]
    assert renewal(spare) > "2026-01-01T00:00:00Z"
    assert authorities(second)[1:] == authorities(first), "pods still show what the one before it issued"
    helm.install(spare, short, NAMESPACE)
    assert trust(spare) == second
    expire(spare)
    helm.install(spare, short, NAMESPACE)
    assert authorities(trust(spare))[1:] == authorities(second)[:1], "and none before that"
    helm.uninstall(spare, NAMESPACE)


def expire(cluster: Cluster) -> None:
    """Set the time of the renewal to one in the past, as Helm: Helm 4 overwrites no other field manager."""
    secret = cluster.get("-n", NAMESPACE, *CERTIFICATE.split("/"))
    secret["metadata"]["annotations"][RENEWAL] = "2026-01-01T00:00:00Z"
    as_helm = ("--server-side", "--force-conflicts", "--field-manager=helm")
    cluster.kubectl("apply", *as_helm, "-f", "-", stdin=json.dumps(secret))


def renewal(cluster: Cluster) -> str:
    """Return the time after which an upgrade makes another certificate."""
    time: str = cluster.get("-n", NAMESPACE, *CERTIFICATE.split("/"))["metadata"]["annotations"][RENEWAL]
    return time


def authorities(content: dict[str, str]) -> list[x509.Certificate]:
    """Return the authorities of the Secret, the newest first."""
    return x509.load_pem_x509_certificates(base64.b64decode(content["ca.crt"]))


def trust(cluster: Cluster) -> dict[str, str]:
    """Check that the configuration trusts the Secret, which is the Service's. Return the Secret's content."""
    content: dict[str, str] = cluster.get("-n", NAMESPACE, "secret", "topicschema-webhook-tls")["data"]
    configuration = cluster.get("validatingwebhookconfiguration", "topicschema")
    assert {each["clientConfig"]["caBundle"] for each in configuration["webhooks"]} == {content["ca.crt"]}
    authority, issued = (
        x509.load_pem_x509_certificate(base64.b64decode(content[each])) for each in ("ca.crt", "tls.crt")
    )
    issued.verify_directly_issued_by(authority)
    assert isinstance(authority.public_key(), rsa.RSAPublicKey | ec.EllipticCurvePublicKey)
    names = issued.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert f"topicschema-webhook.{NAMESPACE}.svc" in names.get_values_for_type(x509.DNSName)
    return content


def controller_environment(documents: list[dict[str, Any]]) -> dict[str, str]:
    """Return the variables of the controller's container."""
    named = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    template = named["Deployment", "topicschema-controller"]["spec"]["template"]
    return {each["name"]: each.get("value", "") for each in template["spec"]["containers"][0]["env"]}


def plain(documents: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the objects by kind and name, without their labels and the defaults that the chart repeats."""
    objects = {}
    for document in documents:
        document["metadata"].pop("labels", None)
        for webhook in document.get("webhooks", ()):
            webhook["clientConfig"].pop("caBundle", None)
        for container in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ()):
            named = {each["name"]: each for each in container["env"]}
            container["env"] = {name: named[name] for name in named.keys() - DEFAULTS_THAT_THE_CHART_NAMES}
            container.pop("imagePullPolicy", None)
        objects[document["kind"], document["metadata"]["name"]] = document
    return objects
