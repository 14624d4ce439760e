"""The contract of the command: exit codes, what goes to standard output and what to standard error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import run, run_line
from topicschema.cli import arguments, rules
from topicschema.cli.rules import reasons
from topicschema.core.schemas import NEWEST

V1 = '{"type": "record", "name": "Order", "fields": []}'
V2 = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "v1.avsc").write_text(V1)
    (tmp_path / "v2.avsc").write_text(V2)
    (tmp_path / "pair.json").write_text('{"key": "", "value": ""}')
    (tmp_path / "texts.json").write_text('{"key": "", "value": "long"}')
    (tmp_path / "null.bin").write_bytes(b"\0" * 8)
    (tmp_path / "bad.avsc").write_text('{"type": "Int"}')
    return tmp_path


CODES = {
    "check --strategy FORWARD --history v1.avsc v2.avsc": 0,
    "check --strategy BACKWARD --history v1.avsc v2.avsc": 1,
    "check --strategy BACKWARD_TRANSITIVE --history v1.avsc --history v2.avsc v2.avsc": 0,
    "check bad.avsc": 1,
    "check --history bad.avsc v1.avsc": 1,
    "check --type STRING /dev/null": 0,
    "check --type BYTES /dev/null": 1,
    "check --type BYTES": 1,
    "check --type NONE": 1,
    "check --type AUTO_CONSUME": 1,
    "check --type KEY_VALUE pair.json": 0,
    "check --type KEY_VALUE --property key.schema.type=STRING --history pair.json pair.json": 0,
    "fingerprint --type KEY_VALUE pair.json": 0,
    "manifest --topic persistent://shop/orders/created --type KEY_VALUE pair.json": 0,
    "validate --type KEY_VALUE --schema pair.json null.bin": 0,
    "check --type STRING": 0,
    "check --type INT32 --history /dev/null": 0,
    "explain": 0,
    "explain TYPE_MISMATCH": 0,
    "explain TYPE_MISMATCH HistoryLost": 0,
    "manifest --topic persistent://shop/orders/created --type STRING": 0,
    "completion bash": 0,
    "--help": 0,
    "--version": 0,
    "check --help": 0,
}
WRONG = [
    "",
    "check",
    "check nowhere.avsc",
    "check .",
    "check --history nowhere.avsc v1.avsc",
    "check --history - -",
    "check --strictness Lax v1.avsc",
    "check --pulsar-version 1.0 v1.avsc",
    "check --batch v1.avsc",
    "check --batch --strategy BACKWARD",
    "check --batch --type JSON",
    "check --property owner v1.avsc",
    "check --property owner=a --property owner=b v1.avsc",
    "check --type JSON --history v1.avsc",
    "decode --type EXTERNAL --schema v1.avsc v1.avsc",
    "check --history-message shop.Order v1.avsc",
    "encode --type PROTOBUF --schema v1.avsc v1.avsc",
    "manifest --topic persistent://shop/orders/created --namespace Shop v1.avsc",
    "manifest --topic persistent://shop/orders/created --namespace shop.orders v1.avsc",
    "manifest --topic persistent://shop/orders/created --type KEY_VALUE texts.json",
    "check --nonsense v1.avsc",
    "explain NONSENSE",
    "fingerprint nowhere.avsc",
    "manifest --topic shop/orders/created v1.avsc",
    "manifest --topic persistent://shop/orders/created",
    "manifest --topic persistent://shop/orders/created --name Order v1.avsc",
    "completion fish",
    "nonsense",
]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("explain NULL_NOT_ALLOWED", "docs/validation-reasons.md"),
        (
            "check --type EXTERNAL v1.avsc",
            "argument --type: EXTERNAL, a type of Pulsar 4.1 and later, is not supported\n",
        ),
        ("check --type Avro v1.avsc", "argument --type: write AVRO, not 'Avro'\n"),
        ("check --strategy backward v1.avsc", "argument --strategy: write BACKWARD, not 'backward'\n"),
        ("check --strictness strict v1.avsc", "argument --strictness: write Strict, not 'strict'\n"),
        ("check --history-type Kafka v1.avsc", "argument --history-type: invalid choice: 'Kafka' (choose from"),
    ],
)
def test_the_reason_of_wrong_input_is_named(here: Path, line: str, words: str) -> None:
    done = run_line(here, line)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_explain_lists_each_id_as_the_first_word_of_a_line(here: Path) -> None:
    lines = [line for line in run(here, "explain").stdout.splitlines() if line.startswith("  ")]
    ids = {rule.id for rule in rules.every()} | set(reasons.every())
    assert {line.split()[0] for line in lines} == ids


def test_a_pair_without_types_is_one_of_bytes_with_warnings(here: Path) -> None:
    assert run_line(here, "check --type KEY_VALUE pair.json").stdout.count("PART_TYPE_MISSING at") == 2


@pytest.mark.parametrize(("line", "code"), CODES.items(), ids=CODES)
def test_a_verdict_is_an_exit_code_and_text_on_standard_output(here: Path, line: str, code: int) -> None:
    done = run_line(here, line)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80 or line == "completion bash"


@pytest.mark.parametrize("line", WRONG)
def test_wrong_input_is_reported_on_standard_error_alone(here: Path, line: str) -> None:
    done = run_line(here, line)
    assert (done.returncode, done.stdout) == (2, "")
    assert "topicschema" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["fingerprint bad.avsc", "manifest --topic persistent://a/b/c bad.avsc"])
def test_a_text_that_is_no_schema_has_no_fingerprint_and_no_manifest(here: Path, line: str) -> None:
    done = run_line(here, line)
    assert (done.returncode, done.stdout) == (1, "")
    assert "UNKNOWN_TYPE at $.type" in done.stderr


def test_json_output_is_what_a_batch_answers(here: Path) -> None:
    done = run_line(here, "check -o json --strategy BACKWARD --history v1.avsc v2.avsc")
    line = {"id": "v2.avsc", "type": "AVRO", "strategy": "BACKWARD", "history": [{"schema": V1}]}
    batch = run(here, "check", "--batch", stdin=json.dumps({**line, "candidate": {"schema": V2}}))
    assert (done.returncode, batch.returncode) == (1, 0)
    answer = json.loads(done.stdout)
    assert (answer.pop("comparedVersions"), answer.pop("mayLackVersions")) == (1, False)
    assert answer == json.loads(batch.stdout)


def test_standard_input_can_be_the_candidate_or_a_version(here: Path) -> None:
    assert run_line(here, "check --strategy BACKWARD --history v1.avsc -", V2).returncode == 1
    assert run_line(here, "check --strategy BACKWARD --history - v1.avsc", V2).returncode == 0


def test_a_batch_with_a_line_that_is_no_request_exits_with_2(here: Path) -> None:
    done = run_line(here, "check --batch", "no\n")
    assert (done.returncode, done.stderr) == (2, "")


def test_a_batch_answers_each_line_before_it_reads_the_next(here: Path) -> None:
    command = [sys.executable, "-m", "topicschema", "check", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(json.dumps({"id": number, "type": "AVRO", "candidate": {"schema": '"long"'}}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.parametrize("arguments", [["v1.avsc"], ["--batch"]])
def test_a_verdict_that_cannot_be_written_is_an_error(here: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "topicschema", "check", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=here, input="{}\n", stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "topicschema check: No space left on device\n")


@pytest.mark.parametrize(
    ("line", "error"),
    [("--batch <&-", "standard input is closed\n"), ("- <&-", "standard input is closed\n"), ("v1.avsc >&-", "")],
)
def test_closed_standard_input_or_output_is_an_error(here: Path, line: str, error: str) -> None:
    command = f"{sys.executable} -m topicschema check {line}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=here, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(error)


def test_a_primitive_that_needs_no_file_is_called_by_its_type(here: Path) -> None:
    assert run_line(here, "check --type STRING").stdout.startswith("STRING is compatible")
    assert json.loads(run_line(here, "check --type STRING -o json").stdout)["id"] is None


def test_a_fingerprint_ignores_what_the_broker_ignores(here: Path) -> None:
    (here / "spaced.avsc").write_text(V1.replace(",", " ,\n"))
    first, second = (run(here, "fingerprint", name).stdout for name in ("v1.avsc", "spaced.avsc"))
    assert first == second
    assert first.startswith("sha256:")
    assert first != run(here, "fingerprint", "v2.avsc").stdout


def test_a_check_imports_no_library_of_the_processes() -> None:
    program = (
        "import sys; from topicschema.cli.main import main; main(['check', '--type', 'STRING', '/dev/null']); "
        "print({name.partition('.')[0] for name in sys.modules} & "
        "{'kopf', 'aiohttp', 'asyncio', 'kubernetes', 'yaml', 'google', 'shtab'})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_closed_pipe_ends_the_batch_without_an_error(here: Path) -> None:
    good = json.dumps({"id": 1, "type": "AVRO", "candidate": {"schema": '"long"'}}) + "\n"
    command = f"{sys.executable} -m topicschema check --batch | head -n 1"
    done = subprocess.run(["/bin/sh", "-c", command], input=good * 5000, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_the_newest_pulsar_version_judges_unless_an_option_names_one_and_the_output_names_it(here: Path) -> None:
    (here / "1x.avsc").write_text('{"type": "record", "name": "Order", "namespace": "shop.1x", "fields": []}')
    newest = run(here, "check", "1x.avsc")
    assert (newest.returncode, "INVALID_NAME" in newest.stdout) == (1, True)
    assert newest.stdout.endswith(f"\nJudged by the rules of Pulsar {NEWEST}.\n")
    older = run(here, "check", "--pulsar-version", "4.0", "1x.avsc")
    assert (older.returncode, older.stdout.splitlines()[-1]) == (0, "Judged by the rules of Pulsar 4.0.")
    for command, version in ((("check",), NEWEST), (("check", "--pulsar-version", "4.0"), "4.0")):
        assert json.loads(run(here, *command, "-o", "json", "1x.avsc").stdout)["pulsarVersion"] == version


def test_a_command_that_is_a_keyword_has_a_module_that_can_be_imported() -> None:
    assert arguments.module_of("import") == "topicschema.cli.commands.import_"
    assert arguments.module_of("can-connect") == "topicschema.cli.commands.can_connect"
