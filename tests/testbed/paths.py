"""The testbed's folders, always outside the checkout."""

import os
import re
from pathlib import Path

from testbed.errors import TestbedError

REPOSITORY = Path(__file__).parents[2]


def cache() -> Path:
    """Return the folder of all that may be deleted and built again: `${XDG_CACHE_HOME:-~/.cache}/topicschema`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "topicschema"


def instances() -> Path:
    """Return the folder with one folder per instance."""
    return cache() / "testbed"


def instance(name: str) -> Path:
    """Return the folder of the instance `name` (lower-case letters, digits, hyphens), which need not exist."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,40}", name):
        raise TestbedError(f"not a name for an instance: {name!r} (lower-case letters, digits and hyphens, at most 41)")
    return instances() / name


def write_atomically(path: Path, text: str, mode: int = 0o600) -> None:
    """Give `path` the content `text` at once: a reader sees the old file or the new one, also after kill -9."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
