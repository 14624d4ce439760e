"""Schemas of Java classes, by the Pulsar client on their class path and the java of the PATH."""

import base64
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from topicschema.cli.inputs.files import UsageError
from topicschema.core.schemas import SchemaInfo, SchemaType

_PROGRAM: Final = Path(__file__).with_name("ExtractSchema.java")
_NO_CLIENT: Final = (
    "Pulsar's client is not on the class path: add it and its dependencies, for instance with --jar "
    "'target/dependency/*' after mvn dependency:copy-dependencies"
)
_ENDED: Final = "Java ended early, as by a class that calls exit"
_HINTS: Final = (
    ("package org.apache.pulsar", _NO_CLIENT),
    (
        'Exception in thread "main" java.lang.ClassNotFoundException:',
        "the class is not on the class path: write its full name, as in package.Outer$Inner",
    ),
    ("java.lang.ClassNotFoundException:", "a dependency is not on the class path"),
    ("Module jdk.compiler", "this java is no JDK; put a JDK 11 or newer on the PATH"),
)
"""Hints by what java's error output has."""


def schemas(
    class_path: Sequence[str], classes: Sequence[str], kind: SchemaType, *, always_allow_null: bool, jsr310: bool
) -> list[SchemaInfo]:
    """Return what Pulsar's Java client sends for each class, of type AVRO or JSON. Raises UsageError if it cannot."""
    java = shutil.which("java")
    if java is None:
        raise UsageError("there is no java on the PATH; install a JDK 11 or newer")
    options = [kind.value, str(always_allow_null).lower(), str(jsr310).lower()]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "schemas")
        command = [java, "-cp", os.pathsep.join(class_path), str(_PROGRAM), str(output), *options, *classes]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)  # noqa: S603  # the user names the program and the class
        if done.returncode or not output.exists():  # a class may end Java
            raise UsageError(f"java cannot make the schema: {_reason(done.stdout)}{_missing(class_path)}")
        return [_info(kind, line) for line in output.read_text("ascii").splitlines()]


def _missing(class_path: Sequence[str]) -> str:
    """Return the end of a message: the first entry that does not exist. java reports none of them."""
    entries = [each for path in class_path for each in path.split(os.pathsep) if each and not each.endswith("*")]
    return next((f"; {each} of --jar does not exist" for each in entries if not Path(each).exists()), "")


def _reason(output: str) -> str:
    hint = next((hint for mark, hint in _HINTS if mark in output), "")
    lines = [each.strip() for each in output.splitlines() if each.strip()] or [_ENDED]
    causes = [each for each in lines if each.startswith("Caused by:")][-1:]
    errors = [each for each in lines if each.startswith(("Exception in", "error:")) or ": error:" in each]
    cause = (causes + errors + lines[-1:])[0]
    return f"{hint} ({cause[:300]})" if hint else cause[:600]


def _info(kind: SchemaType, line: str) -> SchemaInfo:
    schema, *properties = map(base64.b64decode, line.split(","))
    texts = [each.decode() for each in properties]
    return SchemaInfo(kind, schema, dict(sorted(zip(texts[::2], texts[1::2], strict=True))))
