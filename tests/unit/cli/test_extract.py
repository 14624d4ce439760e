"""`topicschema extract` of files, and of classes of Pulsar's Python client. Java's are in the differential tier."""

import json
import os
import sys
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from pulsar.schema import AvroSchema, JsonSchema

from support.command_line import run, run_line

CLASSES = """
from pulsar.schema import Array, Boolean, Bytes, CustomEnum, Double, Float, Integer, Long, Map, Record, String
from enum import Enum
print("a module may print")
class Color(Enum):
    RED = 1
    GREEN = 2
class Item(Record):
    name = String(required=True)
    price = Double(default=1.5)
class Order(Record):
    _avro_namespace = "shop"
    id = Long(required=True)
    note = String()
    count = Integer(default=3)
    paid = Boolean()
    weight = Float()
    content = Bytes()
    color = CustomEnum(Color)
    items = Array(Item())
    labels = Map(String())
    item = Item()
class Outer:
    class Inner(Item):
        more = String()
class NoRecord:
    pass
"""
PROTO = 'syntax = "proto3"; package shop; message Order { string id = 1; }'
RECORD = '{"type": "record", "name": "Order", "fields": []}'
TOPIC = "persistent://shop/orders/created"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_orders.py").write_text(CLASSES)
    (tmp_path / "ending.py").write_text("raise SystemExit(0)")
    (tmp_path / "hostile.py").write_text('\nraise RuntimeError("\\x1b[2J")')
    (tmp_path / "order.avsc").write_text(RECORD)
    (tmp_path / "order.proto").write_text(PROTO)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize("name", ["Order", "Outer.Inner"])
@pytest.mark.parametrize(("kind", "schema"), [("AVRO", AvroSchema), ("JSON", JsonSchema)])
def test_a_record_has_the_text_that_its_client_sends(here: Path, name: str, kind: str, schema: type) -> None:
    module = dict[str, object]()
    exec(CLASSES, module)  # noqa: S102  # the classes of this file
    sent = schema(attrgetter(name)(SimpleNamespace(**module))).schema_info().schema()
    done = run(here, "extract", f"own_orders:{name}", "--type", kind)
    assert json.loads(done.stdout) == {"type": kind, "schema": sent, "properties": {}}, done.stderr


def test_the_three_forms_are_one_schema(here: Path) -> None:
    text = run_line(here, "extract -o text own_orders:Order").stdout.removesuffix("\n")
    assert json.loads(run_line(here, "extract own_orders:Order").stdout)["schema"] == text
    resource = yaml.safe_load(run_line(here, f"extract -o manifest --topic {TOPIC} own_orders:Order").stdout)
    assert (resource["spec"]["topic"], resource["spec"]["schema"]) == (TOPIC, text)


def test_files_become_uploads_and_the_manifests_of_the_command_manifest(here: Path) -> None:
    assert json.loads(run_line(here, "extract order.avsc").stdout) == {
        "type": "AVRO",
        "schema": RECORD,
        "properties": {},
    }
    envelope = json.loads(run_line(here, "extract order.proto").stdout)
    assert json.loads(envelope["schema"])["rootMessageTypeName"] == "shop.Order"
    for file in ("order.avsc", "order.proto"):
        expected = run_line(here, f"manifest --topic {TOPIC} {file}").stdout
        assert run_line(here, f"extract -o manifest --topic {TOPIC} {file}").stdout == expected


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("extract", 2, "name either a file or MODULE:CLASS"),
        ("extract --jar a.jar", 2, "needs both --jar and --classname"),
        ("extract --jar a.jar --classname A", 2, "; a.jar of --jar does not exist"),
        ("extract --jsr310 order.avsc", 2, "are for a Java class"),
        ("extract --jar a.jar --classname A --type STRING", 2, "type AVRO or JSON, not STRING"),
        ("extract -o manifest order.avsc", 2, "-o manifest needs --topic"),
        ("extract own_orders:Absent", 2, "has no attribute 'Absent'"),
        ("extract absent:Order", 2, "No module named 'absent'; the module must be importable"),
        ("extract own_orders:NoRecord", 2, "has no attribute 'schema'; the class must be a pulsar.schema.Record"),
        ("extract ending:Order", 2, "Python ended early, as by a module that calls exit"),
        ("extract hostile:Order", 2, "RuntimeError: \ufffd[2J ("),
        ("extract hostile:Order", 2, "hostile.py, line 2)"),
        ("extract --type STRING own_orders:Order", 2, "write --type AVRO, JSON, PROTOBUF_NATIVE"),
        ("extract --type BYTES order.avsc", 2, "a TopicSchema cannot have the type BYTES"),
        ("extract own_orders.py", 1, "SYNTAX at line 2"),
    ],
)
def test_what_is_wrong_is_named(here: Path, line: str, code: int, words: str) -> None:
    done = run_line(here, line)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr, done.stderr


def test_a_java_that_ends_early_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "java").write_text("#!/bin/sh\nexit 0\n")
    (here / "java").chmod(0o700)
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
    done = run_line(here, "extract --jar orders.jar --classname Order")
    assert (done.returncode, "Java ended early, as by a class that calls exit" in done.stderr) == (2, True), done.stderr
