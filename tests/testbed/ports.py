"""Free TCP ports on loopback."""

import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LOWEST = 20000


def _ephemeral_start() -> int:
    """The first port that the kernel hands out by itself."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 32768


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now; as for Go, old connections that still close do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free(preferred: int | None = None) -> int:
    """A free port, `preferred` if that one is.

    Chosen at random below the ports that the kernel gives to outgoing connections: a server that is stopped for a while
    then finds its port again. Nothing holds the port until it is used; who finds it taken asks again.
    """
    if preferred is not None and is_free(preferred):
        return preferred
    end = _ephemeral_start()
    for _ in range(200):
        port = random.randrange(_LOWEST, end) if end > _LOWEST else 0  # noqa: S311 - to avoid collisions, not to be secret
        if port and is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
