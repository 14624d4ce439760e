"""`decode`, `encode` and `validate`: every type in and out, in every form, and the errors."""

import importlib
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.payloads.protobuf_orders import PROTO_3
from topicschema.cli import arguments
from topicschema.cli.inputs.files import UsageError
from topicschema.core.schemas import NEWEST

V1 = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
V2 = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, {"name": "raw", "type": "bytes", "default": "x"}]}'  # noqa: E501
PAIR = (
    "--type KEY_VALUE --schema pair.json --property key.schema.type=STRING --property value.schema.type=AVRO "
    "--property kv.encoding.type="
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("v1.avsc").write_text(V1)
    Path("v2.avsc").write_text(V2)
    Path("pair.json").write_text(json.dumps({"key": "", "value": json.loads(V1)}))
    Path("order.json").write_bytes(PROTO_3.info.schema)
    Path("order.proto").write_text('syntax = "proto3"; message Order { int64 id = 1; }')
    return tmp_path


def run(line: str) -> int:
    options = arguments.parser().parse_args(shlex.split(line))
    code: int = importlib.import_module(options.module).run(options)
    return code


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


@pytest.mark.parametrize(
    ("options", "value", "written"),
    [
        ("--schema v1.avsc", {"id": 1}, "02"),
        ("--schema v2.avsc", {"id": 1, "raw": "/w=="}, "0202ff"),
        ("--type JSON --schema v2.avsc", {"id": 1, "raw": "/w=="}, b'{"id":1,"raw":"/w=="}'.hex()),
        (
            "--type PROTOBUF_NATIVE --schema order.json",
            {"id": 150, "by": {"5": {"sku": "a"}}},
            "0896012207080512030a0161",
        ),
        ("--type LOCAL_DATE", "1970-01-02", "0000000000000001"),
        ("--type BYTES", "/w==", "ff"),
        ("--type INT64", 2**62, "4000000000000000"),
        (f"{PAIR}INLINE", {"key": "k", "value": {"id": 1}}, "000000016b0000000102"),
    ],
)
def test_an_encoded_value_is_decoded_to_itself(
    here: Path, capfdbinary: pytest.CaptureFixture[bytes], options: str, value: object, written: str
) -> None:
    assert run(f"encode {options} --hex {write('value.json', json.dumps(value))}") == 0
    assert capfdbinary.readouterr().out.decode() == f"{written}\n"
    assert run(f"encode {options} -o payload.bin value.json") == 0
    assert Path("payload.bin").read_bytes().hex() == written
    assert run(f"decode {options} payload.bin") == 0
    out, err = capfdbinary.readouterr()
    assert (json.loads(out), err) == (value, b"")
    assert run(f"validate {options} payload.bin") == 0
    judged = f"payload.bin is valid\nJudged by the rules of Pulsar {NEWEST}.\n"
    assert capfdbinary.readouterr().out.decode() == judged


def test_text_in_hexadecimal_and_base64_may_have_spaces(here: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(f"decode --type INT16 --hex {write('text', '01 02 ')}") == 0
    assert run(f"decode --type INT16 --base64 {write('text', 'AQI=')}") == 0
    assert capfdbinary.readouterr().out == b"258\n258\n"
    assert run(f"encode --type INT16 --base64 {write('value.json', '258')}") == 0
    assert capfdbinary.readouterr().out == b"AQI=\n"


def test_a_separated_key_has_a_file_of_its_own(here: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    value = {"key": "k", "value": {"id": 1}}
    assert run(f"encode {PAIR}SEPARATED --key key.bin -o value.bin {write('value.json', json.dumps(value))}") == 0
    assert (Path("key.bin").read_bytes(), Path("value.bin").read_bytes()) == (b"k", b"\x02")
    assert run(f"decode {PAIR}SEPARATED --key key.bin value.bin") == 0
    assert json.loads(capfdbinary.readouterr().out) == value


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("line", "payload", "code", "words"),
    [
        ("decode --schema v2.avsc --writer v1.avsc", b"\2", 0, ('"raw": "eA=="', "")),
        ("validate --schema v1.avsc --writer v2.avsc", b"\2", 1, ("UNRESOLVABLE at $.id, byte 0", "")),
        ("decode --schema order.proto", bytes.fromhex("0896011001"), 0, ('"id": 150', "UNKNOWN_FIELD at $, byte 3")),
        ("decode --schema order.proto", bytes.fromhex("0896011001"), 0, ('"id": 150', "consumers read on")),
        ("decode --schema v2.avsc", b"\2\4\1", 1, ("", "TRUNCATED at $.raw, byte 2")),
        ("encode --schema v1.avsc", b'{"id": "x"}', 1, ("", "payload.bin: WRONG_TYPE at $.id")),
        ("validate --schema v1.avsc", b"\2\2", 0, ("payload.bin is valid\n\nTRAILING_BYTES at $, byte 1\n", "")),
        ("validate --schema v1.avsc", b"\2\2", 0, ("Consumers read on.", "")),
        ("decode --schema deep.avsc", b"\2" * 5000 + b"\0", 1, ("", "TOO_DEEP")),
    ],
)
def test_a_payload_is_printed_or_its_rule_and_place(
    capfd: pytest.CaptureFixture[str], line: str, payload: bytes, code: int, words: tuple[str, str]
) -> None:
    write("deep.avsc", '{"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]}')
    assert run(f"{line} {write('payload.bin', payload)}") == code
    out, err = capfd.readouterr()
    assert (bool(words[0]), words[0] in out, words[1] in err) == (bool(out), True, True), (out, err)


def test_validate_answers_in_json_and_shows_the_result_of_auto_produce(
    here: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(f"validate --type JSON --schema v1.avsc -o json {write('payload.bin', '[]')}") == 1
    answer = json.loads(capfdbinary.readouterr().out)
    assert (answer["valid"], answer["autoProduceSends"]) == (False, True)
    [finding] = answer["findings"]
    assert finding.items() >= {"rule": "WRONG_TYPE", "path": "$", "offset": 0, "isTolerated": False}.items()
    assert run("validate --type JSON --schema v1.avsc payload.bin") == 1
    assert b"AUTO_PRODUCE still sends it" in capfdbinary.readouterr().out


@pytest.mark.parametrize(
    "line",
    [
        "decode payload.bin",
        "decode --schema nowhere.avsc payload.bin",
        "decode --schema payload.bin payload.bin",
        "decode --schema - -",
        "decode --schema v1.avsc nowhere.bin",
        "decode --schema v1.avsc --hex payload.bin",
        "decode --schema v1.avsc --key payload.bin payload.bin",
        "decode --type JSON --schema v1.avsc --writer v1.avsc payload.bin",
        "decode --type PROTOBUF --schema v1.avsc payload.bin",
        f"decode {PAIR}BESIDE payload.bin",
        "encode --schema v1.avsc payload.bin",
        "encode --schema v1.avsc notes.txt",
        "encode --schema v1.avsc null.json",
        f"encode {PAIR}SEPARATED null.json",
        f"encode {PAIR}SEPARATED --key - null.json",
        f"decode {PAIR}SEPARATED --key - -",
        "encode --type PROTOBUF --schema v1.avsc null.json",
        "encode --type INT8 -o nowhere/payload.bin number.json",
    ],
)
def test_wrong_input_is_a_usage_error(here: Path, line: str) -> None:
    write("payload.bin", b"\xff")
    write("notes.txt", "no JSON")
    write("null.json", "null")
    write("number.json", "1")
    with pytest.raises(UsageError):
        run(line)


def test_binary_goes_through_a_pipe_untouched(here: Path) -> None:
    def piped(command: str, content: bytes) -> bytes:
        line = [sys.executable, "-m", "topicschema", command, "--type", "BYTES", "-"]
        return subprocess.run(line, input=content, capture_output=True, check=True).stdout

    assert piped("encode", b'"/wA="') == b"\xff\0"
    assert piped("decode", b"\xff\0") == b'"/wA="\n'


def test_a_writer_s_defaults_are_not_validated(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = {"name": "a", "type": {"type": "array", "items": "string"}}
    for name, default in (("null.avsc", None), ("empty.avsc", [])):
        Path(name).write_text(json.dumps({"type": "record", "name": "R", "fields": [items | {"default": default}]}))
    content = write("message", bytes.fromhex("02026100"))
    assert run(f"validate --schema empty.avsc --writer null.avsc {content}") == 0
    capsys.readouterr()
    assert run(f"decode --schema empty.avsc --writer null.avsc {content}") == 0
    assert json.loads(capsys.readouterr().out) == {"a": ["a"]}
    with pytest.raises(UsageError, match="INVALID_DEFAULT"):
        run(f"validate --schema null.avsc {content}")
