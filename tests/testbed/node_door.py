"""A door of a node's room: a port of loopback on this side that is a port inside, or the other way round.

`python -m testbed.node_door PID out|in ADDRESS PORT`: `out` lets who is outside call 127.0.0.1:PORT inside, `in` lets
who is inside call ADDRESS:PORT and reach 127.0.0.1:PORT outside. A socket stays in the network that it was opened in,
so one process listens in one and calls in the other. Standard library only.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_NETWORK = 0x40000000
_LOOPBACK = "127.0.0.1"
_CHUNK = 256 * 1024


def listening(address: str, port: int) -> socket.socket:
    """A socket that listens in the network that this process is in."""
    return socket.create_server((address, port), backlog=128)


def move_to(namespace: Path) -> None:
    """From here on sockets are opened in that network."""
    with namespace.open("rb") as file:
        if _LIBC.setns(file.fileno(), _NETWORK):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()


async def serve(listener: socket.socket, port: int) -> None:
    """Pass on what comes until this process is told to end."""

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            further, onward = await asyncio.open_connection(_LOOPBACK, port, limit=_CHUNK)
            with contextlib.closing(onward):
                await asyncio.gather(_pass(reader, onward), _pass(further, writer))

    server = await asyncio.start_server(visited, sock=listener, limit=_CHUNK)
    await server.serve_forever()


def main() -> None:
    """Open the door that the command line names."""
    pid, direction, address, port = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    inside, outside = Path(f"/proc/{pid}/ns/net"), Path("/proc/self/ns/net")
    if direction == "out":
        listener = listening(address, port)
        move_to(inside)
    else:
        with outside.open("rb") as home:
            move_to(inside)
            listener = listening(address, port)
            move_to(Path(f"/proc/self/fd/{home.fileno()}"))
    print("open", flush=True)
    asyncio.run(serve(listener, port))


if __name__ == "__main__":
    main()
