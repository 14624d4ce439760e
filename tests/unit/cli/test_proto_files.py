"""`.proto` files at the command line: their imports, and errors with their place."""

import json
from pathlib import Path

import grpc_tools
import pytest
import yaml

from support.command_line import run_line
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.core.schemas import PulsarVersion
from topicschema.protoc import ProtobufSources, compile_envelope

ORDER = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto"; // import "shop/comment.proto";
import public 'shop/money.proto';
/* import "shop/comment.proto"; */
message Order { Money price = 1; google.protobuf.Timestamp at = 2; string text = 3 [json_name = "import"]; }
"""
MONEY = 'syntax = "proto3"; package shop; message Money { int64 units = 1; }\n'
OTHER = 'syntax = "proto3"; package shop; message Parcel {}\n'
OPTIONS = """syntax = "proto3";
package shop;
import "google/protobuf/descriptor.proto";
extend google.protobuf.FieldOptions { string owner = 50000; }
"""
OWNED = """syntax = "proto3";
package shop;
import "shop/options.proto";
message Owned { int64 id = 1 [(owner) = "a"]; }
"""
DESCRIPTOR = Path(grpc_tools.__file__).parent / "_proto" / "google" / "protobuf" / "descriptor.proto"
TOPIC = "persistent://shop/orders/created"
PRINT = "fingerprint --type PROTOBUF_NATIVE"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, text in {
        "protos/shop/order.proto": ORDER,
        "protos/shop/money.proto": MONEY,
        "old/shop/order.proto": ORDER.replace("Money price", "int32 cents"),
        "old/shop/money.proto": MONEY,
        "parcel.proto": OTHER,
        "two.proto": OTHER + "message Order {}",
        "bad.proto": 'syntax = "proto3";\n\tmessage Order { Money price = 1; }\n',
        "lost.proto": 'syntax = "proto3";\nimport "shop/money.proto";\nmessage Order {}\n',
        "bytes.proto": 'syntax = "proto3";\n// \udce9\nmessage Order {}\n',
        "v1.avsc": '"long"',
        "damaged/shop/money.proto": "message {",
        "secret.proto": "a secret",
        "sly.proto": 'syntax = "proto3"; import "../secret.proto"; message A {}',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode(errors="surrogateescape"))
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code"),
    {
        "check parcel.proto": 0,
        "check --type PROTOBUF_NATIVE -I protos protos/shop/order.proto": 0,
        "check -I old -I protos --history old/shop/order.proto protos/shop/order.proto": 0,
        "check -I protos --history parcel.proto protos/shop/order.proto": 1,
        "check --message shop.Parcel --history parcel.proto two.proto": 0,
        "check --message shop.Order --history-message shop.Parcel --history two.proto two.proto": 1,
        "check --history-message shop.Parcel --history two.proto parcel.proto": 0,
        "check --type AVRO parcel.proto": 2,
        "check --type PROTOBUF --history parcel.proto v1.avsc": 2,
        "fingerprint --type JSON parcel.proto": 2,
        "check --message shop.Parcels two.proto": 2,
        "check bytes.proto": 2,
        "check --history bad.proto parcel.proto": 2,
        "check nowhere.proto": 2,
        "check --message shop.Order v1.avsc": 2,
        "check -I protoss protos/shop/money.proto": 2,
        "check --batch -I protos": 2,
        "fingerprint bad.proto": 2,
        "can-connect producer --history parcel.proto parcel.proto": 0,
        "can-connect producer --type AUTO_PRODUCE --enforced --history parcel.proto": 0,
        "can-connect consumer -I protos --history parcel.proto protos/shop/order.proto": 1,
        "can-connect consumer --history parcel.proto v1.avsc": 1,
        "can-connect consumer --history-type AVRO --history v1.avsc parcel.proto": 1,
        "can-connect reader bad.proto": 2,
        "can-connect reader -I protos v1.avsc": 2,
        f"manifest --topic {TOPIC} bad.proto": 2,
        f"manifest --topic {TOPIC} parcel.proto two.proto": 2,
        f"manifest --topic {TOPIC} v1.avsc parcel.proto": 2,
    }.items(),
)
def test_the_exit_code_is_the_verdict_and_2_for_what_cannot_be_compiled(here: Path, line: str, code: int) -> None:
    done = run_line(here, line)
    assert done.returncode == code, done
    assert bool(done.stderr) == (code == 2)
    assert bool(done.stdout) == (code != 2)
    assert "Traceback" not in done.stderr


def test_an_error_has_file_line_and_a_caret(here: Path) -> None:
    assert (
        run_line(here, "check bad.proto").stderr
        == """topicschema check: bad.proto cannot be compiled

INVALID_PROTO at line 2, column 18
  bad.proto: "Money" is not defined.
  1 | syntax = "proto3";
  2 |  message Order { Money price = 1; }
    |                  ^

What a rule means and what to do: topicschema explain INVALID_PROTO
"""
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("lost.proto", ["MISSING_FILE at line 2, column 1", '2 | import "shop/money.proto";']),
        ("-I damaged protos/shop/order.proto", ["shop/money.proto cannot be compiled", "1 | message {"]),
        (
            "two.proto",
            ["UNKNOWN_MESSAGE at two.proto\n  no root message is named; name one of shop.Order, shop.Parcel; --"],
        ),
        ("sly.proto", ["sly.proto cannot be compiled"]),
    ],
)
def test_an_error_names_its_file_and_its_place(here: Path, line: str, words: list[str]) -> None:
    done = run_line(here, f"check {line}")
    assert (done.returncode, "a secret" in done.stderr) == (2, False)
    assert all(each in done.stderr for each in words), done.stderr


@pytest.mark.parametrize("command", ["check", "fingerprint", f"manifest --topic {TOPIC}"])
def test_sources_whose_envelope_no_broker_accepts_are_no_schema(here: Path, command: str) -> None:
    (here / "inner.proto").write_text("message Outer { message Inner {} }")
    done = run_line(here, f"{command} --message Outer.Inner inner.proto")
    assert done.returncode == 1
    assert "UNKNOWN_MESSAGE at $.rootMessageTypeName" in done.stdout + done.stderr
    assert "fileDescriptorSet" not in done.stdout + done.stderr


def test_the_folder_of_each_version_is_searched_first(here: Path) -> None:
    (here / "v1").mkdir()
    (here / "v1" / "parcel.proto").write_text(OTHER)
    (here / "old" / "shop" / "money.proto").write_text(MONEY.replace("units", "pence"))
    for line, equal_to in (
        ("--history v1/parcel.proto parcel.proto", 0),
        ("-I protos -I old --history old/shop/order.proto protos/shop/order.proto", None),
        ("-I protos -I old --history protos/shop/order.proto protos/shop/order.proto", 0),
    ):
        answer = json.loads(run_line(here, f"check -o json {line}").stdout)
        assert (answer["compatible"], answer["equalTo"]) == (True, equal_to)


def test_standard_input_is_a_version_of_the_file_beside_it(here: Path) -> None:
    line = "check --type PROTOBUF_NATIVE -o json -I protos --history - protos/shop/order.proto"
    assert json.loads(run_line(here, line, stdin=ORDER).stdout)["equalTo"] == 0
    assert json.loads(run_line(here, line, stdin=f"{ORDER}message More {{}}").stdout or "{}") == {}  # two messages now
    assert run_line(here, f"{line} --message shop.Order", stdin=f"{ORDER}message More {{}}").returncode == 0


def test_an_envelope_and_sources_may_be_compared(here: Path) -> None:
    envelope = compile_envelope(ProtobufSources("shop.Parcel", {"parcel.proto": OTHER}))
    (here / "envelope.json").write_bytes(envelope)
    line = "check --type PROTOBUF_NATIVE -o json --history envelope.json parcel.proto"
    assert json.loads(run_line(here, line).stdout)["equalTo"] == 0
    assert prints(here, f"{PRINT} envelope.json") == prints(here, f"{PRINT} parcel.proto")


def test_a_manifest_of_sources_has_them_and_what_they_import(here: Path) -> None:
    done = run_line(here, f"manifest --topic {TOPIC} -I protos protos/shop/order.proto")
    resource = decode(TopicSchema, yaml.safe_load(done.stdout))
    protobuf = resource.spec.protobuf
    assert protobuf is not None
    assert protobuf.message == "shop.Order"
    assert protobuf.files == {"shop/order.proto": ORDER, "shop/money.proto": MONEY}
    assert "  protobuf:\n    message: shop.Order\n    files:\n      shop/order.proto: |\n        syntax" in done.stdout


def test_imported_files_may_be_listed_instead(here: Path) -> None:
    (here / "protos" / "shop" / "money.proto").rename(here / "elsewhere.proto")
    (here / "shop").mkdir()
    (here / "elsewhere.proto").rename(here / "shop" / "money.proto")
    done = run_line(here, f"manifest --topic {TOPIC} --message .shop.Order protos/shop/order.proto shop/money.proto")
    assert yaml.safe_load(done.stdout)["spec"]["protobuf"] == {
        "message": "shop.Order",
        "files": {"order.proto": ORDER, "shop/money.proto": MONEY},
    }


def test_the_envelope_is_that_of_the_pulsar_versions_client(optional: Path) -> None:
    """Of a file, a manifest and a line of `check --batch`."""
    files = {"owned.proto": OWNED, "shop/options.proto": OPTIONS}
    manifest = run_line(optional, f"manifest --topic {TOPIC} -I elsewhere owned.proto").stdout
    (optional / "owned.yaml").write_text(manifest)
    prints_of = []
    for version in (PulsarVersion.V4_2, PulsarVersion.V5_0):
        envelope = compile_envelope(ProtobufSources("shop.Owned", files), pulsar_version=version)
        (optional / "envelope.json").write_bytes(envelope)
        expected = prints(optional, f"{PRINT} envelope.json")
        assert prints(optional, f"{PRINT} --pulsar-version {version} -I elsewhere owned.proto") == expected
        assert prints(optional, f"fingerprint --pulsar-version {version} owned.yaml") == expected
        line = {
            "pulsarVersion": version,
            "history": [{"type": "PROTOBUF_NATIVE", "schema": envelope.decode()}],
            "candidate": {"protobuf": {"message": "shop.Owned", "files": files}},
        }
        assert json.loads(run_line(optional, "check --batch", stdin=json.dumps(line)).stdout)["equalTo"] == 0
        prints_of.append(expected)
    assert prints_of[0] != prints_of[1]


@pytest.fixture
def optional(here: Path) -> Path:
    """Add a file with an option, its import elsewhere, and another release of `descriptor.proto`."""
    own = here / "release" / "google" / "protobuf" / "descriptor.proto"
    own.parent.mkdir(parents=True)
    own.write_text(f"{DESCRIPTOR.read_text()}message Newer {{}}")
    (here / "elsewhere" / "shop").mkdir(parents=True)
    (here / "elsewhere" / "shop" / "options.proto").write_text(OPTIONS)
    (here / "owned.proto").write_text(OWNED)
    return here


def prints(where: Path, line: str) -> str:
    done = run_line(where, line)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_folders_and_imports_come_before_the_well_known_files_of_the_compiler(optional: Path) -> None:
    line = "fingerprint --import elsewhere/shop/options.proto"
    own = prints(optional, f"{line} -I release owned.proto")
    assert own != prints(optional, f"{line} owned.proto")
    assert own == prints(optional, f"{line} --import release/google/protobuf/descriptor.proto owned.proto")


IMPORT = "--import elsewhere/shop/options.proto"


@pytest.mark.parametrize(
    ("line", "code"),
    {
        f"check {IMPORT} --history owned.proto owned.proto": 0,
        f"check {IMPORT} --history parcel.proto owned.proto": 1,
        f"fingerprint {IMPORT} owned.proto": 0,
        f"can-connect producer {IMPORT} --history owned.proto owned.proto": 0,
        f"validate --schema owned.proto {IMPORT} /dev/null": 0,
        f"validate-messages --schema owned.proto {IMPORT} --history owned.proto nowhere.avro": 3,
        f"manifest --topic {TOPIC} {IMPORT} owned.proto": 0,
        f"check {IMPORT} --import parcel.proto owned.proto": 2,
        f"check {IMPORT} v1.avsc": 2,
        f"check --batch {IMPORT}": 2,
        f"manifest --topic {TOPIC} {IMPORT} v1.avsc": 2,
    }.items(),
)
def test_each_command_takes_the_files_that_are_imported(optional: Path, line: str, code: int) -> None:
    assert run_line(optional, line).returncode == code
