"""The contract of `can-connect`: exit codes, output, the JSON form. tests/unit/core/test_clients.py has the rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command_line import run_line
from topicschema.core.schemas import NEWEST

V1 = '{"type": "record", "name": "Order", "fields": []}'
V2 = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
BAD_DEFAULT = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long", "default": "x"}]}'
ENUM = '{"type": "enum", "name": "E",\n "symbols": ["A"]}'
PAIR = "--type KEY_VALUE --property key.schema.type=STRING --property value.schema.type=INT32"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    texts = {
        "v1": V1,
        "v2": V2,
        "bad-default": BAD_DEFAULT,
        "broken": "{",
        "empty": "",
        "pair": '{"key": "", "value": ""}',
    }
    texts |= {"wide": ENUM.replace("A", 'A", "B'), "narrow": ENUM}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def output(where: Path, line: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run_line(where, f"can-connect {line} -o json").stdout)
    return result


CODES = {
    "producer": 0,
    "producer --type KEY_VALUE pair": 0,
    "producer --history v1 --enforced": 1,
    "producer --type BYTES --history v1 --enforced": 1,
    "producer --type AUTO_PRODUCE --history v1 --enforced": 0,
    "producer --type AUTO_PUBLISH --history v1 --enforced": 0,
    "producer --history v1 --no-auto-update v1": 0,
    "producer --history v1 --no-auto-update v2": 1,
    "producer --strategy FORWARD --history v1 v2": 0,
    "producer --strategy BACKWARD --history v1 v2": 1,
    "producer --type STRING --history-type AVRO --history v1": 1,
    "producer --type STRING --history empty": 0,
    "producer --type NONE --history empty": 0,
    "producer --type NONE --history-type AVRO --history v1": 1,
    f"producer {PAIR} --history pair pair": 0,
    "producer broken": 1,
    "producer bad-default": 0,
    "consumer --topic-active v1": 1,
    "consumer --topic-inactive v1": 0,
    "consumer --topic-inactive --no-auto-update v1": 1,
    "consumer --type AUTO_CONSUME --topic-active": 0,
    "consumer --strategy FORWARD --history v1 v2": 1,
    "reader --strategy FORWARD --history v2 v1": 0,
    "--help": 0,
    "reader --help": 0,
}
WRONG = [
    "",
    "admin v1",
    "producer nowhere",
    "producer --history nowhere v1",
    "producer --history - -",
    "producer --type Avro v1",
    "producer --history-type AUTO_PRODUCE v1",
    "producer --strategy backward v1",
    f"producer {PAIR} v1",
    "consumer --topic-active --topic-inactive v1",
    "consumer v1 v2",
]


@pytest.mark.parametrize(("line", "code"), CODES.items())
def test_the_exit_code_is_0_if_the_client_may_connect(here: Path, line: str, code: int) -> None:
    done = run_line(here, f"can-connect {line}")
    assert (done.returncode, done.stderr, bool(done.stdout)) == (code, "", True)


@pytest.mark.parametrize("line", WRONG)
def test_wrong_input_is_reported_on_standard_error_alone(here: Path, line: str) -> None:
    done = run_line(here, f"can-connect {line}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "topicschema" in done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("producer --history v1 --history v2 v1", "may connect: it uses version 0 (v1). Version 1 stays the\nlatest."),
        ("producer --strategy FORWARD --history - v2", "A producer with v2 may connect: its schema becomes version 1."),
        ("consumer v1", "--topic-active"),
        ("producer bad-default", "warning: INVALID_DEFAULT"),
        ("producer --history bad-default v1", "A producer with v1 may not connect: UnknownError\n"),
        ("producer --history bad-default v1", "Compared with version 0 (bad-default)."),
        ("producer --history bad-default v1", "INVALID_HISTORY"),
        ("consumer --history wide narrow", "warning: ENUM_SYMBOL_UNKNOWN at $ (WIRE: messages are lost or misread)"),
        ("consumer --history wide narrow", "consumers with the candidate must read messages of version 0 (wide)."),
    ],
)
def test_the_answer_names_versions_files_and_reasons(here: Path, line: str, words: str) -> None:
    printed = run_line(here, f"can-connect {line}", V1).stdout
    assert words in printed or words in " ".join(printed.split())


@pytest.mark.parametrize("line", ["consumer --topic-inactive v1", "consumer --history v1 v1"])
def test_a_topic_whose_activity_is_known_has_no_hint(here: Path, line: str) -> None:
    assert "--topic-active" not in run_line(here, f"can-connect {line}").stdout


def test_the_json_form_has_all_members_always(here: Path) -> None:
    assert output(here, "consumer --history v1 v1") == {
        "client": "consumer",
        "mayConnect": True,
        "outcome": "NoVersion",
        "schemaVersion": None,
        "error": None,
        "upgradeFirst": "Any",
        "incompatibilities": [],
        "warnings": [],
        "pulsarVersion": NEWEST,
    }
    refused = output(here, "producer --strategy BACKWARD --history v1 v2")
    assert (refused["mayConnect"], refused["outcome"], refused["upgradeFirst"]) == (False, "Refused", "Consumers")
    assert refused["error"] == {
        "name": "IncompatibleSchema",
        "message": "Error during schema compatibility check with strategy BACKWARD: ",
    }
    (finding,) = refused["incompatibilities"]
    assert (finding["rule"], finding["path"], finding["schemaVersion"]) == ("FIELD_WITHOUT_DEFAULT", "$.fields[0]", 0)
    (risk,) = output(here, "consumer --history wide narrow")["warnings"]
    assert risk["rule"] == "ENUM_SYMBOL_UNKNOWN"
