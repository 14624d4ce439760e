"""The time of `check --git` on 1,000 manifests, beside `buf breaking` on 1,000 .proto files of the same repository.

The repository has three versions of each file, and a working tree in which some differ. Both commands compare it with
`main`: ours with all versions, and buf with the latest. The first round is not measured: in it, Python compiles the
command to bytecode, which pip does when it installs the command.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.rows import Goal, Row, beside
from support.manifest_repository import Repository, policy, topic
from testbed import paths

FILES = 1_000
_VERSIONS = 3
_FIELDS = 12
_EDITED = 50
_ROUNDS = 5
_BUF = "@bufbuild/buf@1.75.0"
_SECONDS = 3.0


def measure() -> Iterator[Row]:
    """Yield the row."""
    buf = _buf()
    with tempfile.TemporaryDirectory() as name:
        repository = _repository(Path(name))
        ours = [sys.executable, "-m", "topicschema", "check", "--git", "main", "."]
        theirs = [buf, "breaking", "--against", ".git#branch=main"]
        _, *rounds = [(_seconds(repository, ours), _seconds(repository, theirs)) for _ in range(_ROUNDS + 1)]
    check, anchor = (statistics.median(each) for each in zip(*rounds, strict=True))
    goal = Goal(_SECONDS, at_most=True, unit="s")
    yield beside("check --git of 1,000 manifests", check, "s", ("buf breaking of 1,000 .proto files", anchor), goal)


def _buf() -> str:
    """Return buf's program, which npm installs into the cache."""
    folder = paths.cache() / "buf"
    subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), _BUF],  # noqa: S607
        check=True,
    )
    return str(folder / "node_modules" / ".bin" / "buf")


def _repository(root: Path) -> Repository:
    repository = Repository.create(root)
    repository.write("policy.yaml", policy(schemaCompatibilityStrategy="BACKWARD_TRANSITIVE"))
    (root / "buf.yaml").write_text("version: v2\nbreaking: {use: [WIRE_JSON]}\n")
    for version in range(_VERSIONS):
        _write(repository, range(FILES), _FIELDS + version)
        repository.commit()
    _write(repository, range(0, FILES, _EDITED), _FIELDS + _VERSIONS)
    return repository


def _write(repository: Repository, numbers: Sequence[int], count: int) -> None:
    for number in numbers:
        names = [f"field{index}" for index in range(count)]
        fields = [{"name": name, "type": ["null", "string"], "default": None, "doc": "A field."} for name in names]
        schema = {"type": "record", "name": f"Order{number}", "namespace": "shop", "fields": fields}
        file = f"team{number % 20}/order{number}"
        repository.write(f"{file}.yaml", topic(json.dumps(schema, indent=2), f"order{number}"))
        members = "".join(f"  optional string {name} = {index};\n" for index, name in enumerate(names, 1))
        text = f'syntax = "proto3";\npackage shop.order{number};\nmessage Order {{\n{members}}}\n'
        (repository.root / f"{file}.proto").write_text(text)


def _seconds(repository: Repository, command: list[str]) -> float:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(command, cwd=repository.root, env=environment, capture_output=True, check=True)
    return time.perf_counter() - start
