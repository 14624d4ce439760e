"""Options of `topicschema audit`, and its mistakes. tests/spark and tests/broker run audits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from topicschema.cli import arguments
from topicschema.cli.audit.options import options_of
from topicschema.cli.inputs.files import UsageError

REGISTRY = """apiVersion: topicschema.io/v1alpha1
kind: SchemaRegistry
metadata: {name: prod}
spec:
  pulsar:
    adminURL: https://proxy:8443
    serviceURL: pulsar+ssl://proxy:6651
    redirectHosts: ["*.brokers:8443"]
    %s
"""
OAUTH2 = "{issuerURL: https://issuer, clientID: me, audience: 'urn:x', secretRef: {name: s, key: k}}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "registry.yaml").write_text(REGISTRY % "")
    (tmp_path / "token.yaml").write_text(REGISTRY % "authentication: {token: {secretRef: {name: s, key: k}}}")
    (tmp_path / "oauth2.yaml").write_text(REGISTRY % f"authentication: {{oauth2: {OAUTH2}}}")
    (tmp_path / "silent.yaml").write_text((REGISTRY % "").replace("serviceURL", "version: '4.0' #"))
    (tmp_path / "store.yaml").write_text((REGISTRY % "").partition("spec:")[0] + "spec: {}\n")
    (tmp_path / "secret").write_text("x")
    return tmp_path


def parsed(*line: str) -> dict[str, str]:
    return dict(options_of(arguments.parser().parse_args(["audit", "--output", "audit", *line])))


TOPICS = {
    "adminUrl": "https://proxy:8443",
    "serviceUrl": "pulsar+ssl://proxy:6651",
    "redirectHosts": "*.brokers:8443",
    "namespace": "shop/*,a/b",
}
NAMESPACES = ("--namespace", "shop/*", "--namespace", "a/b")


def test_options_of_topics(here: Path) -> None:
    assert parsed("--registry-file", "registry.yaml", *NAMESPACES) == TOPICS
    more = ("--since", "7d", "--token-file", "secret", "--ca-file", "secret")
    with_token = {"since": "604800s", "tokenFile": "secret", "caFile": "secret"}
    assert parsed("--registry-file", "token.yaml", *NAMESPACES, *more) == TOPICS | with_token
    assert parsed("--registry-file", "token.yaml", *NAMESPACES, "--token-variable", "T") == TOPICS | {
        "tokenVariable": "T"
    }
    flow = {"oauth2IssuerUrl": "https://issuer", "oauth2ClientId": "me", "oauth2Audience": "urn:x"}
    expected = TOPICS | flow | {"oauth2SecretFile": "secret"}
    assert parsed("--registry-file", "oauth2.yaml", *NAMESPACES, "--oauth2-secret-file", "secret") == expected


def test_options_of_files(here: Path) -> None:
    line = ("--files", "a", "b", "--history", "v0", "--history", "v1", "--written-with", "0", "--column", "key=k")
    expected = {"files": "a,b", "history": "v0,v1", "schema": "current", "writtenWith": "0", "keyColumn": "k"}
    assert parsed(*line) == expected
    assert parsed("--files", "a", "--schema", "v2", "--type", "JSON", "--file-format", "json") == {
        "files": "a",
        "schema": "v2",
        "schemaType": "JSON",
        "fileFormat": "json",
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "name the registry with --registry-file and a namespace with --namespace, or use --files"),
        ("--registry-file registry.yaml", "name the registry with"),
        ("--registry-file silent.yaml --namespace a/b", "spec.pulsar.serviceURL is missing"),
        ("--registry-file store.yaml --namespace a/b", "spec.pulsar is missing"),
        ("--registry-file secret --namespace a/b", "secret has 0 SchemaRegistries, and one is needed"),
        ("--registry-file none.yaml --namespace a/b", "none.yaml: No such file or directory"),
        ("--registry-file token.yaml --namespace a/b", "name it with --token-file"),
        ("--registry-file oauth2.yaml --namespace a/b", "name it with --oauth2-secret-file"),
        ("--registry-file token.yaml --namespace a/b --token-file none", "none: the file does not exist"),
        ("--registry-file registry.yaml --namespace a/b,c/d", "may not be empty or have a comma"),
        ("--registry-file registry.yaml --namespace a/b --written-with 0", "--written-with is for --files"),
        ("--files a --history v0 --since 7d", "--since is for topics, not for --files"),
        ("--files a", "name the current schema with --schema, or the versions with --history"),
        ("--files a --schema b --column x=y", "--column x=y: write one of payload=NAME"),
    ],
)
def test_mistakes(here: Path, line: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parsed(*line.split())
    assert message in str(error.value)


def test_without_java_it_names_what_to_install(here: Path) -> None:
    command = [sys.executable, "-m", "topicschema", "audit", "--files", "a", "--schema", "b", "--output", "audit"]
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": str(here)}
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)
    message = "Java is missing, on which Spark runs: install a JDK 17 or newer, or set JAVA_HOME"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"topicschema audit: {message}\n")


def test_without_spark_it_names_what_to_install(here: Path) -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; from topicschema.cli.main import main; "
        "sys.exit(main(['audit', '--files', 'a', '--schema', 'b', '--output', 'audit']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True, check=False)
    message = "Spark 4.2 or newer is missing: pip install 'topicschema[spark]'"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"topicschema audit: {message}\n")
