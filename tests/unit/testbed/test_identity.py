"""The identity of a recorded process: another process with its pid is not killed."""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from testbed.identity import ProcessIdentity


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


def test_a_process_with_a_reused_pid_is_not_killed(sleeper: subprocess.Popen[bytes]) -> None:
    identity = ProcessIdentity.of(sleeper.pid)
    assert identity is not None
    earlier = dataclasses.replace(identity, start_ticks=identity.start_ticks - 1)
    elsewhere = dataclasses.replace(identity, world="another boot")

    assert not earlier.alive()
    assert not earlier.kill()
    assert not elsewhere.kill()

    assert sleeper.poll() is None
    assert identity.alive()


def test_a_process_that_ended_but_was_not_collected_is_not_alive() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)

    assert ProcessIdentity.of(child) is None
    os.waitpid(child, 0)
