"""The testbed's brokers themselves: whom they let in, what they keep, and that they end.

A broker with a set-up of its own needs seven seconds to start.
"""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pulsar import AuthenticationToken, Client

from testbed import pulsar_part
from testbed.programs import recorded
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Access
from testbed.tokens import ORDINARY

pytestmark = pytest.mark.broker

_STRING = {"type": "STRING", "schema": "", "properties": {}}
_OWNER = """
from testbed import pulsar
from testbed.instances import Instance
instance = Instance.owned()
print(instance.folder, flush=True)
pulsar.start(instance, "plain")
"""


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_broker_stores_a_schema_and_gives_it_back(pulsar: Pulsar, pulsar_namespace: str) -> None:
    assert pulsar.tell("POST", f"/schemas/{pulsar_namespace}/x/schema", _STRING) == {"version": {"version": 0}}
    assert pulsar.tell("GET", f"/schemas/{pulsar_namespace}/x/schema")["type"] == "STRING"


def test_a_secured_broker_lets_in_a_token_that_is_good(secured_pulsar: Pulsar, secured_namespace: str) -> None:
    credentials = secured_pulsar.credentials
    assert credentials is not None
    schema = f"/schemas/{secured_namespace}/x/schema"
    secured_pulsar.tell("POST", schema, _STRING)

    for token in (credentials.tokens.expired, "no token at all"):
        assert secured_pulsar.ask("GET", schema, headers=_bearer(token)).status == 401
    assert secured_pulsar.ask("GET", schema, headers={"Authorization": ""}).status == 401


def test_an_ordinary_role_may_do_what_it_was_granted(secured_pulsar: Pulsar, secured_namespace: str) -> None:
    credentials = secured_pulsar.credentials
    assert credentials is not None
    app, schema = _bearer(credentials.tokens.ordinary), f"/schemas/{secured_namespace}/x/schema"
    before = secured_pulsar.ask("POST", schema, _STRING, app).status

    secured_pulsar.tell("POST", f"/namespaces/{secured_namespace}/permissions/{ORDINARY}", ["produce"])

    assert before == 401  # and not 403: the broker tells the two apart no better
    assert secured_pulsar.ask("POST", schema, _STRING, app).status == 200
    assert secured_pulsar.ask("DELETE", schema, headers=app).status == 401


def test_a_broker_that_asks_for_a_certificate_takes_no_other_caller(certificate_pulsar: Pulsar) -> None:
    assert certificate_pulsar.ask("GET", "/tenants").status == 200
    credentials = certificate_pulsar.credentials
    assert credentials is not None
    stranger = replace(certificate_pulsar, credentials=replace(credentials, access=Access.TOKEN))
    with pytest.raises(OSError, match=r"CERTIFICATE_REQUIRED|BAD_CERTIFICATE|reset"):
        stranger.ask("GET", "/tenants")


def test_a_client_produces_and_consumes(pulsar: Pulsar, pulsar_namespace: str) -> None:
    client = Client(pulsar.service_url)
    try:
        assert _sent_and_received(client, f"persistent://{pulsar_namespace}/x") == b"a message"
    finally:
        client.close()


def test_a_client_with_a_token_produces_and_consumes_over_tls(secured_pulsar: Pulsar, secured_namespace: str) -> None:
    credentials = secured_pulsar.credentials
    assert credentials is not None
    token = AuthenticationToken(credentials.tokens.ordinary)
    secured_pulsar.tell("POST", f"/namespaces/{secured_namespace}/permissions/{ORDINARY}", ["produce", "consume"])
    client = Client(
        secured_pulsar.service_url,
        authentication=token,
        tls_trust_certs_file_path=str(credentials.ca),
        tls_validate_hostname=True,
    )
    try:
        assert _sent_and_received(client, f"persistent://{secured_namespace}/x") == b"a message"
    finally:
        client.close()


def _sent_and_received(client: Client, topic: str) -> bytes:
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"a message")
    received: bytes = consumer.receive(timeout_millis=20000).data()
    return received


def test_a_given_broker_serves_and_nothing_else_is_started(pulsar: Pulsar, tmp_path: Path) -> None:
    given = {"PULSAR_ADMIN_URL": pulsar.admin_url, "PULSAR_SERVICE_URL": pulsar.service_url}
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            __file__,
            "-k",
            "stores or token_that_is_good",
        ],
        cwd=Path(__file__).parents[2],
        env={"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), **given},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 passed, 1 skipped" in told.stdout, told.stdout
    assert "the broker that PULSAR_ADMIN_URL names cannot be set up" in told.stdout


@pytest.mark.full  # a JVM starts; test_validation_source_faults.py has one killed and started, too
def test_a_broker_is_the_same_one_after_a_kill(certificate_pulsar: Pulsar) -> None:
    schema = f"/schemas/{certificate_pulsar.fresh_namespace()}/x/schema"
    certificate_pulsar.tell("POST", schema, _STRING)
    program = certificate_pulsar.program
    assert program is not None
    program.kill()
    with pytest.raises(OSError, match="refused"):
        certificate_pulsar.ask("GET", schema)

    certificate_pulsar.start()

    assert certificate_pulsar.tell("GET", schema)["version"] == 0
    taken = [line for line in program.log_tail(100_000).splitlines() if "was invalidated" in line]
    assert not any("/ledgers/available/" in line for line in taken)  # for its bookie's lock it would fight itself


def test_a_broker_dies_when_the_test_run_is_killed() -> None:
    if pulsar_part.given() is not None:
        pytest.skip("the broker that PULSAR_ADMIN_URL names is not ours to end")
    with subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        while "pulsar-plain" not in (processes := recorded(folder)):
            time.sleep(0.02)
        owner.kill()
    deadline = time.monotonic() + 30
    while any(process.alive() for process in processes.values()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(process.alive() for process in processes.values())
