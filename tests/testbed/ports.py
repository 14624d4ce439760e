"""Free TCP ports on loopback."""

import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
_LOWEST = 20000
_RESERVED: set[int] = set()


def _ephemeral_start() -> int:
    """Return the first port of the kernel's ephemeral range."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 32768


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Return whether a server could listen on the port now; as for Go, old connections that close do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _reserve(port: int) -> bool:
    """Keep the port from other testbeds as long as this process lives; False where another one has it.

    The sign is a UDP socket on the port of that number, which is in no TCP server's way.
    """
    if port in _RESERVED:
        return True
    sign = socket.socket(type=socket.SOCK_DGRAM)
    try:
        sign.bind((LOOPBACK, port))
    except OSError:
        sign.close()
        return False
    sign.detach()
    _RESERVED.add(port)
    return True


def free(preferred: int | None = None) -> int:
    """Return a free port, `preferred` if that is free.

    It is chosen at random below the kernel's ephemeral range, so that a server that is stopped for a while can use its
    port again. No other process of the testbed gets it while this one lives. Another program of the machine may take it
    before it is used; the caller then chooses again.
    """
    if preferred is not None and is_free(preferred) and _reserve(preferred):
        return preferred
    end = _ephemeral_start()
    for _ in range(200):
        port = random.randrange(_LOWEST, end) if end > _LOWEST else 0  # noqa: S311 - to avoid collisions, not to be secret
        if port and port not in _RESERVED and is_free(port) and _reserve(port):
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
