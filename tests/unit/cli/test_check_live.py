"""`check --live`: the requests of the command, and its verdict by the responses. The cluster tier has a real server."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import command_line
from support.manifest_repository import fields, in_yaml, policy, registry, topic

CAUSE = {
    "reason": "FieldValueInvalid",
    "field": "spec.schema",
    "message": "FIELD_WITHOUT_DEFAULT at $.fields[1]: field 'x' has none. BACKWARD (set by policy orders) demands it",
}


QUERY = "dryRun=All&fieldManager=topicschema-check&fieldValidation=Strict"


class Exchange:
    """The requests that a server received, and its responses by the resource's name."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.by_name: dict[str, tuple[int, dict[str, Any], list[str]]] = {}
        self.stored: dict[str, dict[str, Any]] = {}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Exchange]:
    exchange = Exchange()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            stored = exchange.stored.get(self.path.rpartition("/")[2])
            self._respond(404 if stored is None else 200, stored or {"message": "not found"}, [])

        def do_POST(self) -> None:
            wire = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            exchange.requests.append((f"{self.command} {self.path}", wire))
            if wire["metadata"].get("resourceVersion") == "old":
                exchange.stored[wire["metadata"]["name"]]["metadata"]["resourceVersion"] = "new"
                self._respond(409, {"message": "conflict"}, [])
                return
            self._respond(*exchange.by_name.get(wire["metadata"]["name"], (200, wire, [])))

        do_PUT = do_POST  # noqa: N815

        def _respond(self, code: int, body: dict[str, Any], warnings: list[str]) -> None:
            self.send_response(code)
            for each in warnings:
                self.send_header("Warning", f'299 - "{each}"')
            text = json.dumps(body).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        config = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me", "namespace": "team"}}],
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{listening.server_port}"}}],
            "users": [{"name": "me", "user": {"token": "secret"}}],
        }
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        yield exchange
        listening.shutdown()
        thread.join()


def test_each_resource_is_applied_without_effect(server: Exchange, tmp_path: Path) -> None:
    bare = topic(fields("id"), "bare")
    del bare["metadata"]["namespace"]
    (tmp_path / "a.yaml").write_text(in_yaml(policy(), topic(fields("id")), bare))
    server.by_name["created"] = (200, {}, ['ConsumerRisk: RISK at $.x: a \\"harm\\"', "this is version 0 again"])
    done = command_line.run(tmp_path, "check", "--live", "-o", "json", "a.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    results = {each["name"]: each for each in json.loads(done.stdout)["results"]}
    assert {each["history"] for each in results.values()} == {"Cluster"}
    assert [each["message"] for each in results["created"]["warnings"]] == [
        'RISK at $.x: a "harm"',
        "this is version 0 again",
    ]
    kind = "POST /apis/topicschema.io/v1alpha1/namespaces"
    assert {place.partition("?")[0] for place, _ in server.requests} == {
        f"{kind}/shop/namespaceschemapolicies",
        f"{kind}/shop/topicschemas",
        f"{kind}/team/topicschemas",
    }
    assert {"&".join(sorted(place.partition("?")[2].split("&"))) for place, _ in server.requests} == {QUERY}
    text = " ".join(command_line.run(tmp_path, "check", "--live", "a.yaml").stdout.split())
    assert text.count("To refuse such changes, set strictness: Strict in the policy.") == 1


def test_a_registry_is_applied_without_a_namespace(server: Exchange, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(in_yaml(registry("4.1", "new"), registry("4.1", "stored")))
    server.stored["stored"] = registry("4.0", "stored")
    done = command_line.run(tmp_path, "check", "--live", "a.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    kind = "/apis/topicschema.io/v1alpha1/schemaregistries"
    assert {(place.partition("?")[0], wire["spec"]["pulsar"]["version"]) for place, wire in server.requests} == {
        (f"POST {kind}", "4.1"),
        (f"PUT {kind}/stored", "4.1"),
    }


def test_a_stored_resource_is_replaced_with_what_else_it_has(server: Exchange, tmp_path: Path) -> None:
    stored = topic(fields("id", "x="), schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    stored["metadata"] |= {"resourceVersion": "old", "finalizers": ["topicschema.io/history"]}
    server.stored["created"] = stored
    (tmp_path / "a.yaml").write_text(in_yaml(topic(fields("id"))))
    assert command_line.run(tmp_path, "check", "--live", "a.yaml").returncode == 0
    place, wire = server.requests[-1]
    assert place.partition("?")[0] == "PUT /apis/topicschema.io/v1alpha1/namespaces/shop/topicschemas/created"
    assert "schemaCompatibilityStrategy" not in wire["spec"]
    assert (wire["metadata"]["finalizers"], wire["metadata"]["resourceVersion"]) == (["topicschema.io/history"], "new")


def test_causes_are_reasons_at_their_lines(server: Exchange, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(in_yaml(topic(fields("id", "x:int").replace(", {", ",\n{"))))
    server.by_name["created"] = (422, {"details": {"causes": [CAUSE]}, "message": "refused"}, [])
    done = command_line.run(tmp_path, "check", "--live", "-o", "github", "a.yaml")
    assert (done.returncode, done.stderr) == (1, "")
    error = done.stdout.splitlines()[0]
    assert error.startswith("::error file=a.yaml,line=9,")
    assert "title=FIELD_WITHOUT_DEFAULT::shop/created: field 'x' has none" in error


@pytest.mark.parametrize(("code", "message"), [(403, "forbidden: no right"), (404, "not found"), (500, "webhook")])
def test_after_an_error_of_the_server_there_is_no_verdict(
    server: Exchange, tmp_path: Path, code: int, message: str
) -> None:
    (tmp_path / "a.yaml").write_text(in_yaml(topic(fields("id"))))
    server.by_name["created"] = (code, {"message": message}, [])
    done = command_line.run(tmp_path, "check", "--live", "a.yaml")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"topicschema check: shop/created: HTTP {code}: {message}\n"


def test_an_unreachable_server_is_named(server: Exchange, tmp_path: Path) -> None:
    text = (tmp_path / "kubeconfig").read_text()
    (tmp_path / "kubeconfig").write_text(re.sub("127.0.0.1:[0-9]+", "127.0.0.1:1", text))
    (tmp_path / "a.yaml").write_text(in_yaml(topic(fields("id"))))
    done = command_line.run(tmp_path, "check", "--live", "a.yaml")
    assert (done.returncode, done.stdout) == (3, "")
    assert "the API server at http://127.0.0.1:1 does not answer" in done.stderr
