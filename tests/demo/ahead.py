"""`python -m demo.ahead` builds and downloads what the demo needs, while pip still installs its libraries.

It needs only the standard library. The demo tries again what failed, and reports the error.
"""

import contextlib
import os
import threading
from pathlib import Path

from demo import releases, wheels
from demo.errors import DemoError
from testbed import maven, prebuilt, sources
from testbed.errors import TestbedError
from testbed.progress import Progress

_BROKER = Path(maven.__file__).parent / "pulsar" / "pom.xml"


def _download() -> None:
    """Download what is not compiled: kubectl, the broker's jars, and the schemas of step 8."""
    with contextlib.suppress(TestbedError, DemoError):
        prebuilt.program("kubectl", Progress())
        if not os.environ.get("PULSAR_ADMIN_URL") and maven.why_absent() is None:
            maven.jars(_BROKER)
        wheels.fetch(releases.RELEASES, Progress())


def main() -> None:
    """Build the control plane, and download the rest at the same time."""
    downloads = threading.Thread(target=_download)
    downloads.start()
    with contextlib.suppress(TestbedError):
        sources.find(Progress(), manager=False)
    downloads.join()


if __name__ == "__main__":
    main()
