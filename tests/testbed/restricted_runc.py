#!/usr/bin/env python3
"""Call runc for Docker where CAP_SYS_RESOURCE is missing, which every privileged container needs.

Without it no process can get that capability, nor a lower chance to be killed if memory is short.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any


def restrict(process: dict[str, Any]) -> None:
    """Take away what only that capability allows."""
    process.pop("oomScoreAdj", None)
    for names in process.get("capabilities", {}).values():
        while "CAP_SYS_RESOURCE" in names:
            names.remove("CAP_SYS_RESOURCE")


def main() -> None:
    """Edit the container's configuration or the process's, whichever the command line names, and become runc."""
    named = dict(zip(sys.argv, sys.argv[1:], strict=False))
    if "create" in sys.argv:
        edit(Path(named["--bundle"], "config.json"), ["process"])
    elif "exec" in sys.argv:
        edit(Path(named["--process"]), [])
    os.execvp("runc", ["runc", *sys.argv[1:]])  # noqa: S606, S607 - the one on the path


def edit(file: Path, path: list[str]) -> None:
    """Restrict the process that the file describes at that place."""
    process = document = json.loads(file.read_text(encoding="utf-8"))
    for name in path:
        process = process[name]
    restrict(process)
    file.write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    main()
