"""What Pulsar's own Java admin client reads of what was put in over REST.

It needs a JVM of its own; clients/test_own_schemas.py has it read every type, and so `make test` has the client, too.
"""

import base64
import json
from pathlib import Path

import pytest

from testbed import maven
from testbed.pulsar import Pulsar

_READER = Path(__file__).parent / "admin" / "SchemaReader.java"
_RECORD = '{"type": "record", "name": "R", "fields": []}'


@pytest.mark.full
def test_the_java_admin_client_reads_every_version(pulsar: Pulsar, pulsar_namespace: str) -> None:
    reason = maven.why_absent()
    if reason is not None:
        pytest.skip(f"no Java admin client: {reason}")
    texts = [_RECORD, _RECORD.replace("[]", '[{"name": "a", "type": "int", "default": 1}]')]
    for text in texts:
        body = {"type": "AVRO", "schema": text, "properties": {"owner": "team-a"}}
        pulsar.tell("POST", f"/schemas/{pulsar_namespace}/x/schema", body)

    told = maven.run_java(_READER, pulsar.admin_url, stdin=f"persistent://{pulsar_namespace}/x\n")

    expected = {"type": "AVRO", "properties": {"owner": "team-a"}}
    assert json.loads(told) == [{**expected, "schema": base64.b64encode(text.encode()).decode()} for text in texts]
