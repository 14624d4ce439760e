"""`check` of manifests: their files, the policy of each topic, and the forms of the output."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from support import command_line
from support.manifest_repository import fields, in_yaml, policy, registry, topic
from topicschema.core.schemas import NEWEST, PulsarVersion
from topicschema.protoc import ProtobufSources, compile_envelope

H0, H1 = fields("id", "x="), fields("id")
REQUIRED = fields("id", "note:string")
TOPIC = "persistent://elsewhere/orders/"
PROTO = 'syntax = "proto3";\nmessage Order {\n  int64 id = ;\n}\n'


def check(where: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return command_line.run(where, "check", *arguments, stdin=stdin)


def words_of(where: Path, *arguments: str) -> str:
    return " ".join(check(where, *arguments).stdout.split())


def output(where: Path, *arguments: str, stdin: str = "") -> dict[str, Any]:
    done = check(where, "-o", "json", *arguments, stdin=stdin)
    assert done.stderr == ""
    result: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if result["compatible"] else 1)
    return result


def write(path: Path, *resources: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(in_yaml(*resources))


def listed(*resources: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": resources})


def test_files_folders_documents_lists_and_standard_input_are_read(tmp_path: Path) -> None:
    write(tmp_path / "d/policy.yaml", policy())
    write(tmp_path / "d/deep/two.yml", topic(H0, "a"), topic(H0, "b"))
    (tmp_path / "d/list.json").write_text(listed(topic(H0, "c"), {"kind": "ConfigMap"}))
    (tmp_path / "d/values.yaml").write_text("{{ not: YAML")
    write(tmp_path / "d/.hidden/e.yaml", topic(H0, "e"))
    write(tmp_path / "d.yaml", topic(H0, "d"))
    results = output(tmp_path, "d", "d.yaml", "-", stdin=in_yaml(topic(H0, "f")))["results"]
    assert [(each["name"], each["id"], each["line"]) for each in results] == [
        ("c", "d/list.json", 1),
        ("orders", "d/policy.yaml", 1),
        ("a", "d/deep/two.yml", 1),
        ("b", "d/deep/two.yml", 10),
        ("d", "d.yaml", 1),
        ("f", "standard input", 1),
    ]
    assert {each["policy"] for each in results if each["kind"] == "TopicSchema"} == {"orders"}


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", topic(H0))
    inner = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):  # a path of more than 4,096 bytes: it stops root, too
        os.mkdir("d" * 250, dir_fd=inner)
        outer, inner = inner, os.open("d" * 250, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)
    done = check(tmp_path, ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"topicschema check: ./{'d' * 250}/")
    assert done.stderr.endswith("d: File name too long\n")


BY_NAMESPACE, BY_DEFAULT = ("BACKWARD_TRANSITIVE", "Namespace"), ("FULL", "Broker")
BY_BROKER = {
    **policy(schemaCompatibilityStrategy="UNDEFINED"),
    "status": {
        "registry": {"address": "pulsar.example:443", "version": "4.2.4"},
        "observed": {"broker": {"schemaCompatibilityStrategy": "FORWARD"}},
    },
}
"""A policy as kubectl prints it, with the strategy of its broker."""


def with_strategy(strategy: str) -> dict[str, Any]:
    return topic(REQUIRED, schemaCompatibilityStrategy=strategy)


@pytest.mark.parametrize(
    ("ruling", "candidate", "strategy", "rule"),
    [
        (policy(), topic(REQUIRED), BY_NAMESPACE, "FIELD_WITHOUT_DEFAULT"),
        (policy(), with_strategy("FORWARD"), ("FORWARD", "Topic"), "STRATEGY_NOT_ALLOWED"),
        (policy(constraints={"allowedStrategies": ["FORWARD"]}), with_strategy("FORWARD"), ("FORWARD", "Topic"), None),
        (
            policy(constraints={"allowedStrategies": ["FULL"]}),
            with_strategy("ALWAYS_COMPATIBLE"),
            ("ALWAYS_COMPATIBLE", "Topic"),
            "STRATEGY_NOT_ALLOWED",
        ),
        (BY_BROKER, topic(REQUIRED), ("FORWARD", "Broker"), None),
        (policy(namespace="other"), topic(REQUIRED), BY_DEFAULT, "FIELD_WITHOUT_DEFAULT"),
        (policy(pulsarNamespace="shop/other"), topic(REQUIRED), BY_DEFAULT, "FIELD_WITHOUT_DEFAULT"),
        (policy(constraints={"allowedTypes": ["JSON"]}), topic(H1), BY_NAMESPACE, "TYPE_NOT_ALLOWED"),
        (policy(constraints={"requiredProperties": ["owner"]}), topic(H1), BY_NAMESPACE, "PROPERTY_MISSING"),
    ],
)
def test_a_topic_is_judged_by_its_own_strategy_or_by_the_policy_that_governs_it(
    tmp_path: Path, ruling: dict[str, Any], candidate: dict[str, Any], strategy: tuple[str, str], rule: str | None
) -> None:
    write(tmp_path / "all.yaml", ruling, candidate)
    (tmp_path / "v1.avsc").write_text(H1)
    result = output(tmp_path, "--history", "v1.avsc", "all.yaml")["results"][1]
    assert (result["strategy"], result["strategySource"]) == strategy
    assert [each["rule"] for each in result["incompatibilities"]][:1] == ([] if rule is None else [rule])


def excepted(until: str, **members: Any) -> dict[str, Any]:
    fixed = {"topic": "created", "allowedStrategies": ["ALWAYS_COMPATIBLE"], "reason": "v1 clients are gone"}
    return policy(constraints={"exceptions": [{**fixed, "until": until, **members}]})


@pytest.mark.parametrize(
    ("until", "rules", "exception"),
    [
        ("2999-12-31", [], {"until": "2999-12-31", "reason": "v1 clients are gone", "hasEnded": False}),
        (
            "2020-12-31T18:00:00Z",
            ["STRATEGY_NOT_ALLOWED"],
            {"until": "2020-12-31T18:00:00Z", "reason": "v1 clients are gone", "hasEnded": True},
        ),
    ],
)
def test_an_exception_of_the_policy_counts_until_its_end(
    tmp_path: Path, until: str, rules: list[str], exception: dict[str, Any]
) -> None:
    write(tmp_path / "all.yaml", excepted(until), with_strategy("ALWAYS_COMPATIBLE"))
    (tmp_path / "v1.avsc").write_text(H1)
    result = output(tmp_path, "--history", "v1.avsc", "all.yaml")["results"][1]
    assert [each["rule"] for each in result["incompatibilities"]] == rules
    assert result["exception"] == exception


@pytest.mark.parametrize(
    ("wire", "place"),
    [
        (excepted("2026-02-30"), "spec.constraints.exceptions[0].until: write a date or a time in UTC"),
        (excepted("2026-12-31T18:00:00+01:00"), "spec.constraints.exceptions[0].until: "),
        (excepted("2026-12-31", topic="shop/orders/created"), "spec.constraints.exceptions[0].topic: write the topic"),
        (excepted("2026-12-31", allowedStrategies=[]), "spec.constraints.exceptions[0].allowedStrategies: must have"),
        (excepted("2026-12-31", allowedStrategies=["LENIENT"]), "spec.constraints.exceptions[0].allowedStrategies[0]"),
        (excepted("2026-12-31", reason=""), "spec.constraints.exceptions[0].reason: must have at least 1 characters"),
        (
            policy(constraints={"exceptions": [*excepted("2026-12-31")["spec"]["constraints"]["exceptions"]] * 2}),
            "spec.constraints.exceptions: must not have two items with topic created",
        ),
    ],
)
def test_an_invalid_exception_is_an_error_with_its_path(tmp_path: Path, wire: dict[str, Any], place: str) -> None:
    write(tmp_path / "all.yaml", wire)
    assert f"all.yaml: line 8: {place}" in check(tmp_path, "all.yaml").stderr


def suit(*symbols: str) -> str:
    kind = {"type": "enum", "name": "Suit", "symbols": list(symbols), "default": "NONE"}
    return json.dumps({"type": "record", "name": "Card", "fields": [{"name": "suit", "type": kind}]})


@pytest.mark.parametrize("version", [PulsarVersion.V4_2, PulsarVersion.V5_0])
def test_sources_become_the_envelope_of_the_policys_pulsar_version(tmp_path: Path, version: PulsarVersion) -> None:
    # The clients of 4.2 and 5.0 have different descriptors of the imported file.
    files = {
        "a.proto": 'syntax = "proto3";\nimport "google/protobuf/api.proto";\nmessage A { google.protobuf.Api b = 1; }\n'
    }
    envelope = compile_envelope(ProtobufSources("A", files), pulsar_version=version)
    (tmp_path / "envelope.json").write_bytes(envelope)
    resource = topic(H0)
    resource["spec"] |= {"type": "PROTOBUF_NATIVE", "protobuf": {"message": "A", "files": files}}
    del resource["spec"]["schema"]
    write(tmp_path / "all.yaml", policy(), registry(version.value), resource)
    results = output(tmp_path, "--history", "envelope.json", "all.yaml")["results"]
    assert [each["equalTo"] for each in results if each["kind"] == "TopicSchema"] == [0]


@pytest.mark.parametrize(
    ("manifest", "judging"),
    [(registry("4.0"), "4.0"), (registry("4.1"), "4.1"), (registry(), NEWEST), (registry("4.0", "other"), NEWEST)],
)
def test_the_pulsar_version_of_the_registry_s_manifest_judges_else_the_newest(
    tmp_path: Path, manifest: dict[str, Any], judging: str
) -> None:
    write(tmp_path / "all.yaml", manifest, policy(), topic(H1))
    assert output(tmp_path, "all.yaml")["results"][2]["pulsarVersion"] == judging


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"pulsarr": {}}, "line 5: spec has no member pulsarr; write pulsar"),
        ({"pulsar": {"adminURL": "pulsar:8080"}}, "spec.pulsar.adminURL: write https://HOST:PORT or http://HOST:PORT"),
        ({"pulsar": {}}, "adminURL"),
        (
            {"pulsar": {"adminURL": "http://a", "tls": {"caSecretRef": {"name": "a", "key": "b"}}}},
            "spec.pulsar.tls: tls requires https",
        ),
        ({"allowedNamespaces": [{"namespaceSelector": {}, "pulsarNamespaces": ["a/b"]}]}, "select by matchNames"),
    ],
)
def test_a_registry_that_the_api_server_would_refuse_is_an_error_at_its_line(
    tmp_path: Path, spec: dict[str, Any], words: str
) -> None:
    write(tmp_path / "registry.yaml", registry(**spec))
    done = check(tmp_path, "registry.yaml")
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_a_registry_is_a_resource_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "registry.yaml", registry("4.1"))
    done = check(tmp_path, "registry.yaml")
    assert (done.returncode, "registry.yaml: registry prod is accepted" in done.stdout) == (0, True)


def test_strict_policies_refuse_risks(tmp_path: Path) -> None:
    (tmp_path / "v1.avsc").write_text(suit("NONE", "HEARTS", "SPADES"))
    for strictness, code in (("Broker", 0), ("Strict", 1)):
        write(tmp_path / "all.yaml", policy(strictness=strictness), topic(suit("NONE", "HEARTS")))
        assert check(tmp_path, "--history", "v1.avsc", "all.yaml").returncode == code


def test_warnings_of_harm_name_what_refuses_it_once(tmp_path: Path) -> None:
    (tmp_path / "v1.avsc").write_text(suit("NONE", "HEARTS", "SPADES"))
    harmful = topic(suit("NONE", "HEARTS"))
    for resources, how in (
        ([policy(), harmful], "To refuse such changes, set strictness: Strict in the policy."),
        ([harmful], "To refuse such changes, use --strictness Strict for topics without a policy."),
    ):
        write(tmp_path / "all.yaml", *resources)
        arguments = ("--strategy", "BACKWARD", "--history", "v1.avsc", "all.yaml")
        done = check(tmp_path, *arguments)
        assert (done.returncode, " ".join(done.stdout.split()).count(how)) == (0, 1)
        assert how in check(tmp_path, *arguments, "-o", "github").stdout


def test_the_output_names_what_the_verdict_lacks(tmp_path: Path) -> None:
    write(tmp_path / "all.yaml", policy(), topic(H1))
    write(tmp_path / "alone.yaml", topic(H1, schemaCompatibilityStrategy="FULL_TRANSITIVE"))
    write(tmp_path / "plain.yaml", topic(H1))
    write(tmp_path / "three.yaml", *(topic(H1, each) for each in "abc"))
    (tmp_path / "v1.avsc").write_text(H1)
    for arguments in (("all.yaml",), ("alone.yaml",), ("--strategy", "FULL_TRANSITIVE", "v1.avsc")):
        lines = check(tmp_path, "--history", "v1.avsc", *arguments).stdout.splitlines()
        assert lines[0] == "compared with 1 version; the topic may have more"
    assert output(tmp_path, "--strategy", "FULL_TRANSITIVE", "--history", "v1.avsc", "v1.avsc")["mayLackVersions"]
    assert output(tmp_path, "--history", "v1.avsc", "all.yaml")["results"][1]["mayLackVersions"]
    assert check(tmp_path, "all.yaml").stdout.startswith("only validity and the policies' constraints were checked")
    for arguments, words in (
        (("alone.yaml",), f"shop/created: it is judged by FULL_TRANSITIVE on Pulsar {NEWEST} "),
        (("--strategy", "FORWARD", "--history", "v1.avsc", "plain.yaml"), "shop/created: it is judged by FORWARD on"),
        (
            ("three.yaml",),
            f"shop/a and 2 others: they are judged by FULL on Pulsar {NEWEST}, unless they name a strategy",
        ),
    ):
        assert f"no policy is given for {words}" in words_of(tmp_path, *arguments)


def test_a_policy_in_another_kubernetes_namespace_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", policy(), topic(H1), topic(H1, "b", "bnak"), topic(H1, "c", "bnak", topic=f"{TOPIC}c"))
    result = output(tmp_path, "a.yaml")
    assert result["compatible"]
    _, good, wrong, other = result["results"]
    assert (good["warnings"], other["warnings"]) == ([], [])
    [warning] = wrong["warnings"]
    assert (warning["rule"], warning["path"], warning["line"]) == ("PolicyNotFound", "metadata.namespace", 20)
    assert warning["message"].startswith(
        "policy orders governs shop/orders in the Kubernetes namespace shop, and this resource is in bnak: "
    )
    text = words_of(tmp_path, "a.yaml")
    assert "no policy is given for bnak/c: it is judged by FULL" in text
    assert "warning: PolicyNotFound: policy orders governs shop/orders in the Kubernetes namespace shop" in text


ONE = {"a.yaml": [topic(H1)]}
TWO = {"a.yaml": [topic(H1, "a"), topic(H1, "b")]}


@pytest.mark.parametrize(
    ("line", "resources", "words"),
    [
        (
            ".",
            {"dev.yaml": [policy("a"), topic(H1)], "prod.yaml": [policy("b")]},
            "several policies govern shop/orders in the namespace shop: dev.yaml:1 and prod.yaml:1",
        ),
        (".", {"dev.yaml": [topic(H1)], "prod.yaml": [topic(H1)]}, "is given twice: dev.yaml:1 and"),
        (".", {"a.yaml": [{"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {}}]}, ". has no TopicSchema"),
        ("a.yaml v1.avsc", ONE, "v1.avsc has no TopicSchema, NamespaceSchemaPolicy or"),
        ("--type JSON a.yaml", ONE, "remove --type and --property"),
        ("--history v1.avsc a.yaml", TWO, "--history is for one TopicSchema, and 2 are given"),
        ("a.yaml", {"a.yaml": [topic(H1, topic="shop/orders/a")]}, "a.yaml: line 5: "),
        ("a.yaml", {"a.yaml": [topic(H1, schemaCompat="FULL")]}, "spec has no member schemaCompat"),
        ("--live a.yaml", ONE, "no cluster: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_input_is_an_error_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, resources: dict[str, list[dict[str, Any]]], words: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    for file, each in resources.items():
        write(tmp_path / file, *each)
    (tmp_path / "v1.avsc").write_text(H1)
    done = check(tmp_path, *line.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_wrong_resource_does_not_hide_the_verdicts_on_the_others(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", policy(), topic("{", "broken"), topic(H1, "other", topic="shop"))
    done = check(tmp_path, "-o", "github", "a.yaml")
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert lines[1].startswith("::error file=a.yaml,line=22,title=InvalidResource::")
    assert lines[2].startswith("::error file=a.yaml,line=16,col=6,title=SYNTAX::shop/broken: ")
    assert "a.yaml: line 22: " in done.stderr


def test_one_topic_has_one_resource(tmp_path: Path) -> None:
    same = {"topic": "persistent://shop/orders/created"}
    write(tmp_path / "a.yaml", topic(H1), topic(H1, "second", **same))
    first, second = output(tmp_path, "a.yaml")["results"]
    assert (first["compatible"], second["error"]["reason"]) == (True, "TopicAlreadyClaimed")


def test_annotations_are_at_the_lines_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "team a,b"
    for file, schema in (("pair.yaml", REQUIRED), ("v1.yaml", H1)):
        pair = {"encoding": "INLINE", "key": {"type": "STRING"}, "value": {"type": "AVRO", "schema": schema}}
        resource = topic("", "pair", type="KEY_VALUE", keyValue=pair)
        del resource["spec"]["schema"]
        write(folder / file, resource)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    lines = check(folder, "-o", "github", "--history", "v1.yaml", "pair.yaml").stdout.splitlines()
    [error] = [line for line in lines if line.startswith("::error")]
    where, _, message = error.removeprefix("::").partition("::")
    assert where == "error file=team a%2Cb/pair.yaml,line=7,col=3,title=FIELD_WITHOUT_DEFAULT"
    assert message.startswith("shop/pair: field 'note' of the candidate is not in version 0")


def test_sources_are_excerpted_in_the_manifest(tmp_path: Path) -> None:
    lines = "".join(f"        {line}\n" for line in PROTO.splitlines())
    made = in_yaml(topic("", type="PROTOBUF_NATIVE")).replace(
        "  schema: |\n", f"  protobuf:\n    message: Order\n    files:\n      order.proto: |\n{lines}"
    )
    (tmp_path / "a.yaml").write_text(made)
    done = check(tmp_path, "a.yaml")
    assert (done.returncode, done.stderr) == (1, "")
    assert "INVALID_PROTO at line 3, column 14" in done.stdout
    assert "|           int64 id = ;" in done.stdout


def test_a_junit_report_has_a_case_for_each_resource(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", policy(), topic(H1), topic('{"type": <&>', "bad"))
    done = check(tmp_path, "-o", "junit", "a.yaml")
    assert done.returncode == 1
    suites = ET.fromstring(done.stdout)  # noqa: S314  # our own
    assert (suites.get("tests"), suites.get("failures")) == ("3", "1")
    cases = {case.get("name"): case.find("failure") for case in suites.iter("testcase")}
    assert [name for name, failure in cases.items() if failure is not None] == ["bad"]
    assert cases["bad"] is not None
    assert cases["bad"].get("type") == "SYNTAX"
