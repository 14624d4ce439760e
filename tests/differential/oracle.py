"""Java as an oracle: its programs and class paths, and the run of a batch. The tests have the requests.

There are three: AVRO, Avro's own library (as Pulsar 4.0.7 ships it), BROKER, the classes of a Pulsar 4.0.7 broker, and
CLIENT, those of its Java client. AVRO_OF and BROKER_OF name the class path of each Pulsar version. A batch is one run
of the oracle's program, which documents requests and answers.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from testbed import maven
from topicschema.core.schemas import PulsarVersion, SchemaInfo
from topicschema.core.strategies import Strategy

_HERE = Path(__file__).parent
AVRO = _HERE / "Oracle.java"
BROKER = _HERE / "broker" / "BrokerOracle.java"
CLIENT = _HERE / "client" / "ClientOracle.java"
_POM_OF_AVRO = {"1.11.4": "pom.xml", "1.12.0": "pom-1.12.xml"}
AVRO_OF: Mapping[PulsarVersion, Path] = {each: _HERE / _POM_OF_AVRO[each.avro] for each in PulsarVersion}
BROKER_OF: Mapping[PulsarVersion, Path] = {
    each: _HERE / "broker" / ("pom.xml" if each is PulsarVersion.V4_0 else f"pom-{each}.xml") for each in PulsarVersion
}
AVRO_VERSIONS = (PulsarVersion.V4_0, PulsarVersion.V4_1)  # 4.2 and 5.0 judge with the library of 4.1
JUDGING = tuple(
    pytest.param(each, marks=[pytest.mark.full] if each is PulsarVersion.V4_2 else []) for each in PulsarVersion
)
"""The Pulsar versions as parameters. In a sample 5.0 stands for 4.2, whose brokers judge alike."""


def query(
    requests: Iterable[dict[str, Any]], program: Path = AVRO, class_path: Path | None = None
) -> list[dict[str, Any]]:
    """Return one answer per request, in order: `verdict` true, false or `error:Class`; `detail` after an exception.

    `class_path` is a pom, by default the one beside the program.
    """
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    answers = maven.run_java(program, stdin=lines, pom=class_path)
    return [json.loads(line) for line in answers.split("\n") if line]  # a detail may have U+2028


def wire(info: SchemaInfo) -> dict[str, Any]:
    """Return a schema as the broker's and the client's oracle read it."""
    content = base64.b64encode(info.schema).decode()
    return {"type": info.type.value, "schema": content, "properties": dict(info.properties)}


def check(candidate: SchemaInfo, strategy: Strategy, *existing: SchemaInfo) -> dict[str, Any]:
    """Return the broker's check of a candidate after versions, newest first: all of them, or the last of the list."""
    return {
        "op": "check",
        "existing": [*map(wire, existing)],
        "candidate": wire(candidate),
        "strategy": strategy.value,
        "all": strategy.is_transitive,
    }
