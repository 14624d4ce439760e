"""Ports are free when they are given out."""

import socket
import subprocess
import sys
from pathlib import Path

from testbed import ports


def test_a_port_given_out_can_be_listened_on() -> None:
    with socket.socket() as server:
        server.bind((ports.LOOPBACK, ports.free()))
        server.listen()


def test_the_port_of_last_time_is_given_again_while_it_is_free() -> None:
    port = ports.free()
    assert ports.free(port) == port


def test_a_port_that_another_server_took_is_not_given_out() -> None:
    with socket.socket() as server:
        server.bind((ports.LOOPBACK, ports.free()))
        server.listen()
        taken = server.getsockname()[1]

        assert not ports.is_free(taken)
        assert ports.free(taken) != taken


def test_ports_come_from_where_the_kernel_gives_none_to_outgoing_connections() -> None:
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    assert all(ports.free() < first for _ in range(20))


def test_a_port_that_another_testbed_was_given_is_not_given_out_before_it_is_used() -> None:
    other = "from testbed import ports; print(ports.free(), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", other], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        given = int(process.stdout.readline())
        assert ports.is_free(given)
        assert ports.free(given) != given
        process.communicate("\n")
    assert ports.free(given) == given
