"""docs/cli.md and docs/understand-schemas.md show the real output of their commands.

Each command of a page is a process of its own.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.manifest_repository import Repository, policy, registry, topic

DOCS = Path(__file__).parents[3] / "docs"
FIRST = '{"type": "record", "name": "Order", "fields": [\n  {"name": "id", "type": "long"}]}\n'
FILES = {
    "v1.avsc": FIRST,
    "order.avsc": FIRST,
    "v2.avsc": FIRST.replace("}]", '},\n  {"name": "note", "type": "string"}]'),
}
ORDER = """{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": "long"}
]}"""
WITH_X = ORDER.replace('"long"}', '"long"},\n  {"name": "x", "type": %s}')


def make_repository(root: Path) -> None:
    """Create the repository of the page: `x` was an int, was removed, and comes back as a text."""
    repository = Repository.create(root)
    repository.write("policy.yaml", policy())
    repository.write("registry.yaml", registry("4.2"))
    for schema in (WITH_X % '"int", "default": 0', ORDER):
        repository.write("created.yaml", topic(schema))
        repository.commit()
    repository.write("created.yaml", topic(WITH_X % '"string", "default": ""'))


def consoles(page: str) -> list[tuple[str, str]]:
    """Return the commands of the page, each with its output there."""
    blocks = re.findall(r"```console\n\$ (.*?)\n```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    return [tuple(re.split(r"(?<!\|)\n", block, maxsplit=1)) for block in blocks]


@pytest.mark.parametrize(("page", "count"), [("cli.md", 10), ("understand-schemas.md", 3)])
def test_the_page_shows_the_real_output(tmp_path: Path, page: str, count: int) -> None:
    make_repository(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    program = f"{shlex.quote(sys.executable)} -m topicschema "
    assert len(consoles(page)) == count
    for command, printed in consoles(page):
        line = command.replace("topicschema ", program)
        done = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout.rstrip("\n"), done.stderr) == (printed, ""), command
