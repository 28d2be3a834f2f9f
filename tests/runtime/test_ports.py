"""Ports stay the same from start to start, and give way to other programs."""

import errno
import os
import socket

import pytest

from terrazzo.runtime import ports
from terrazzo.runtime.doors import Doors
from terrazzo.runtime.ports import candidates, first_free
from tests.runtime.support import on_both_loops, play


def test_setting_is_the_only_candidate():
    assert candidates(4711, ports.LOGIN) == [4711]


def test_open_setting_has_the_usual_port_first_and_any_last():
    found = candidates(0, ports.LOGIN)
    assert found[:3] == [7310, 7410, 7510]
    assert found[-1] == 0


def test_port_that_is_taken_gives_way_to_the_next():
    tried = []

    def listen(port):
        tried.append(port)
        if port < 30:
            raise OSError(errno.EADDRINUSE, "taken")
        return port

    assert first_free([10, 20, 30, 0], listen) == 30
    assert tried == [10, 20, 30]


def test_failure_other_than_a_taken_port_is_raised_at_once():
    def listen(port):
        raise OSError(errno.EADDRNOTAVAIL, "no such host")

    with pytest.raises(OSError, match="no such host"):
        first_free([10, 20], listen)


def taken_pair():
    """Sockets that have one UDP and one TCP port, as another program would."""
    udp, tcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    for each in (udp, tcp):
        each.bind(("127.0.0.1", 0))
    tcp.listen()
    return udp, tcp


@on_both_loops
def test_doors_open_beside_another_program_and_at_the_same_place_again(loop):
    async def main():
        udp, tcp = taken_pair()
        with udp, tcp:
            busy_udp, busy_tcp = udp.getsockname()[1], tcp.getsockname()[1]
            first = Doors(os.urandom(32))
            await first.open("127.0.0.1", [busy_udp, 0], [busy_tcp, 0])
            assert first.udp_port not in (0, busy_udp)
            assert first.ws_port not in (0, busy_tcp)
            await first.close()
        again = Doors(os.urandom(32))
        await again.open("127.0.0.1", [first.udp_port], [first.ws_port])
        assert (again.udp_port, again.ws_port) == (first.udp_port, first.ws_port)
        await again.close()

    play(loop, main())
