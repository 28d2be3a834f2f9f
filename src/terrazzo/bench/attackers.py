"""The attacks of `terrazzo attack`: each is a program with sockets and time, and nothing else; some log in.

Each attack runs in a process of its own (`python -m terrazzo.bench.attackers`, its order on stdin, what it did on
stdout), so that it takes no time from the player that is measured. The rules:

- loopback only: an order with any other target is refused;
- every attack ends after `seconds`, and has a number that it does not exceed (connections, sessions, packets a second);
- an attacker comes from `sources`, loopback addresses that are not the honest player's.

    name        door    what it does
    sessions    both    opens as many sessions as it can, over one WebSocket or over UDP from many ports
    requests    TCP     half-sent HTTP requests, one more byte a second; what is cut is opened again
    opens       UDP     OPENs with a valid cookie and a forged seal
    fresh       UDP     as `opens`, with a new cookie and a new port for each
    streams     UDP     sessions that send all of the stream's window but its first byte
    hellos      UDP     HELLOs, datagrams without a byte, bytes at random
    replays     UDP     a recorded session, sent again and again
    frames      TCP     a WebSocket full of empty messages and pings
    pages       TCP     HTTP requests one after the other on one connection, and headers without an end
    churn       TCP     connections that are closed as soon as they are open
    half_open   UDP     handshakes that are right, and stop before the packet that opens the session
    guesses     UDP     login requests with the name of a player that is in the world, and wrong passwords
    digests     UDP     login requests of clients of another game
    malformed   UDP     login requests that are none, or too long
    forged_keys UDP     sessions with a login key that is invented
    old_keys    UDP     sessions with a login key that was used already
    calls       UDP     a client in the world that calls what is not exposed, what is another's, and too often
    deaf        UDP     clients in the world that never acknowledge a packet
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Awaitable, Callable

import msgspec

from terrazzo.bench import attackers_login as login
from terrazzo.bench import attackers_tcp as tcp
from terrazzo.bench import attackers_udp as udp
from terrazzo.bench.attack_order import STARTED, Attack, Attacker
from terrazzo.runtime.loop import run as run_loop

ATTACKS: dict[str, Callable[[Attacker], Awaitable[None]]] = {
    "sessions_ws": tcp.sessions_ws,
    "sessions_many_ws": tcp.sessions_many_ws,
    "sessions_udp": udp.sessions,
    "requests": tcp.requests,
    "opens": udp.opens,
    "fresh": udp.fresh,
    "streams": udp.streams,
    "hellos": udp.hellos,
    "replays": udp.replays,
    "frames": tcp.frames,
    "pages": tcp.pages,
    "churn": tcp.churn,
    "half_open": login.half_open,
    "guesses": login.guesses,
    "digests": login.digests,
    "malformed": login.malformed,
    "forged_keys": login.forged_keys,
    "old_keys": login.old_keys,
    "calls": login.calls,
    "deaf": login.deaf,
}


def main() -> int:
    """Does what stdin orders; what it did goes to stdout."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Attack)
    attacker = Attacker(order)
    _, files_max = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_max, files_max))

    async def work() -> None:
        print(STARTED, flush=True)
        await ATTACKS[order.name](attacker)

    run_loop(work())
    sys.stdout.write(msgspec.json.encode(attacker.counts).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
