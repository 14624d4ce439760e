"""Schemas of Python classes, by the Pulsar client of the python3 of the PATH."""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from topicschema.cli.inputs.files import UsageError
from topicschema.core.schemas import SchemaInfo, SchemaType

TYPES: Final = {
    SchemaType.AVRO: "AvroSchema",
    SchemaType.JSON: "JsonSchema",
    SchemaType.PROTOBUF_NATIVE: "ProtobufNativeSchema",
}
"""The class of `pulsar.schema` by type."""
_PROGRAM: Final = """
import functools, importlib, json, sys
output, module, name, schema = sys.argv[1:]
own = functools.reduce(getattr, name.split("."), importlib.import_module(module))
info = getattr(importlib.import_module("pulsar.schema"), schema)(own).schema_info()
with open(output, "w", encoding="utf-8") as file:
    json.dump(info.schema(), file)
"""
_PLACE: Final = re.compile(r'^ +File "([^<"][^"]*)", line ([0-9]+)', re.MULTILINE)
_HINTS: Final = (
    ("No module named 'pulsar'", "pip install 'pulsar-client[avro]' for this Python"),
    ("Avro library support was not found", "pip install 'pulsar-client[avro]' for this Python"),
    ("has no attribute 'schema'", "the class must be a pulsar.schema.Record"),
    ("ModuleNotFoundError", "the module must be importable in this folder, by this Python"),
)


def schema(name: str, kind: SchemaType) -> SchemaInfo:
    """Return what Pulsar's Python client sends for `module:Class`. Raises UsageError if it cannot."""
    module, _, own = name.partition(":")
    if kind not in TYPES:
        raise UsageError(f"a class of Python has no schema of type {kind}: write --type {', '.join(TYPES)}")
    python = shutil.which("python3")
    if python is None:
        raise UsageError("there is no python3 on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "schema")
        command = [python, "-c", _PROGRAM, str(output), module, own, TYPES[kind]]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603  # the user names the program and the class
        if done.returncode or not output.exists():  # a module may end Python
            lines = done.stdout.strip().splitlines() if done.returncode else []
            last = (lines or ["Python ended early, as by a module that calls exit"])[-1]
            place = next((f" ({file}, line {line})" for file, line in reversed(_PLACE.findall(done.stdout))), "")
            hint = next((f"; {hint}" for mark, hint in _HINTS if mark in done.stdout), place)
            raise UsageError(f"{python} cannot make the schema of {name}: {last[:600]}{hint}")
        return SchemaInfo(kind, json.loads(output.read_text("utf-8")).encode())
