"""`python -m testbed.ahead`: build and download what the demo starts from, while its libraries are still installed.

It needs the standard library alone. Errors are the demo's to report, which tries again.
"""

import contextlib
import os
import threading
from pathlib import Path

from testbed import maven, sources
from testbed.errors import TestbedError
from testbed.progress import Progress

_BROKER = Path(__file__).parent / "pulsar" / "pom.xml"


def _fetch_broker() -> None:
    with contextlib.suppress(TestbedError):
        if not os.environ.get("PULSAR_ADMIN_URL") and maven.why_absent() is None:
            maven.jars(_BROKER)


def main() -> None:
    """Build the control plane, and fetch the broker's jars at the same time."""
    broker = threading.Thread(target=_fetch_broker)
    broker.start()
    with contextlib.suppress(TestbedError):
        sources.find(Progress(), manager=False)
    broker.join()


if __name__ == "__main__":
    main()
