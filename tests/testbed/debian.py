"""A small Debian as an archive, made from packages alone."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from testbed.errors import TestbedError

SUITE: Final = "bookworm"
DEFAULT_MIRROR: Final = "http://deb.debian.org/debian"
LEFT_OUT: Final = ("doc", "man", "locale", "info")


def mirror() -> str:
    """Return the mirror that packages come from: TOPICSCHEMA_DEBIAN_MIRROR, else Debian's own."""
    return os.environ.get("TOPICSCHEMA_DEBIAN_MIRROR") or DEFAULT_MIRROR


def write(archive: Path, packages: Sequence[str], hooks: Sequence[str] = ()) -> None:
    """Write the root folder of a Debian with these packages; hooks are shell lines, "$1" in them is the folder."""
    options = [f"--dpkgopt=path-exclude=/usr/share/{left_out}/*" for left_out in LEFT_OUT]
    sources = f'echo "deb {DEFAULT_MIRROR} {SUITE} main" > "$1/etc/apt/sources.list"'
    options += [f"--customize-hook={hook}" for hook in (sources, *hooks)]
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}", *options]
    done = subprocess.run(
        [*command, SUITE, str(archive), mirror()], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise TestbedError(f"mmdebstrap:\n{(done.stdout + done.stderr).strip()[-3000:]}")
