"""The recorded verdicts of Avro 1.11.4's validator, asked of `topicschema check --batch` with `step: compatibility`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parents[2] / "conformance"
VALIDATOR = "1.11.4"


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((SAMPLES / name).read_text())
    return found


def request(case: dict[str, Any], number: int, strategy: str) -> dict[str, Any]:
    """Under BACKWARD the candidate is the reader, under FORWARD the writer; AVRO takes no union at the top."""
    reader, writer = ({"schema": json.dumps(case[each])} for each in ("reader", "writer"))
    earlier, candidate = (writer, reader) if strategy.startswith("BACKWARD") else (reader, writer)
    return {
        "id": f"{strategy} {case.get('id', number)}",
        "type": "JSON" if isinstance(case["reader"], list) or isinstance(case["writer"], list) else "AVRO",
        "strategy": strategy,
        "strictness": "Broker",
        "pulsarVersion": "4.0",
        "step": "compatibility",
        "history": [earlier],
        "candidate": candidate,
    }


def test_every_recorded_verdict_is_ours() -> None:
    recorded = [(case, case["pulsar_can_read"][VALIDATOR]) for case in cases("avro-edge-cases.json")]
    recorded += [(case, case["pulsar_can_read"]) for case in cases("avro-random-pairs.json")]
    strategies = ("BACKWARD", "FORWARD", "BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE")
    requests = [request(case, number, strategy) for strategy in strategies for number, (case, _) in enumerate(recorded)]
    done = subprocess.run(
        [sys.executable, "-m", "topicschema", "check", "--batch"],
        input="".join(json.dumps(each) + "\n" for each in requests),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["id"] for each in answers] == [each["id"] for each in requests]
    said = [each["compatible"] for each in answers]
    assert said == [verdict is True for _, verdict in recorded] * len(strategies)  # a recorded exception is a no
    assert done.stderr == ""
    assert len(recorded) > 1500
