"""Makes the golden vectors of the client channel; run it by hand only when the standard itself changes.

python tests/wire/client/client_vectors.py     writes vectors.json beside it
"""

from __future__ import annotations

import json
from pathlib import Path

from terrazzo.wire.client import (
    PLAIN,
    UDP,
    WEBSOCKET,
    ClientEndpoint,
    Form,
    Received,
    ServerEndpoint,
    Session,
    Settings,
    Suite,
    Transport,
)
from tests.wire.client.client_harness import AWAY, HOME, STATIC_KEY, entropy_of

FILE = Path(__file__).with_name("vectors.json")
CLIENT_SEED, SERVER_SEED = 11, 12
APP_DATA = b"login key"
DOWN_AT = 50.15
DOWN_RELIABLE = (b"world", b"d" * 300)
DOWN_UNRELIABLE = (b"there", b"e" * 400)
SESSIONS = (
    ("udp, ChaCha20-Poly1305", UDP, Suite.CHACHA20_POLY1305),
    ("udp, AES-256-GCM", UDP, Suite.AES_256_GCM),
    ("websocket, AES-256-GCM", WEBSOCKET, Suite.AES_256_GCM),
)
MALFORMED = {
    "empty": "",
    "no such frame": "09",
    "ACK cut short": "01000000000000000000",
    "ACK with too many bits": "01" + "00" * 10 + "21" + "00" * 33,
    "two ACKs": ("01" + "00" * 11) * 2,
    "STREAM of no bytes": "02000000000000",
    "STREAM cut short": "020000000005000102",
    "MESSAGE without a length": "03",
    "MESSAGE with a long form of a short length": "03ff05000001020304 05".replace(" ", ""),
    "MESSAGE cut short": "030401",
    "two ENDs": "0500000000" * 2,
    "CLOSE cut short": "06",
    "CHALLENGE cut short": "07000102",
    "good frame, bad frame": "0400",
}


class Recorder:
    """Runs one session and writes down every packet, in the clear as well where the form is the plain one."""

    def __init__(self, transport: Transport, suite: Suite, form: Form) -> None:
        self.now = 50.0
        self.form = form
        self.server = ServerEndpoint(STATIC_KEY, entropy=entropy_of(SERVER_SEED), transport=transport, form=form)
        self.client = ClientEndpoint(
            self.server.public_key,
            entropy=entropy_of(CLIENT_SEED),
            now=self.now,
            transport=transport,
            suite=suite,
            app_data=APP_DATA,
            form=form,
        )
        self.address = HOME
        self.packets: list[dict[str, object]] = []
        self.bodies: dict[bytes, bytes] = {}
        self.messages: dict[str, list[str]] = {"to_server": [], "to_client": []}

    def listen(self, session: Session) -> None:
        if self.form is not PLAIN:
            return
        seal = session._seal

        def recording(number: int, body: bytes, header: bytes) -> bytes:
            sealed = seal(number, body, header)
            self.bodies[header + sealed] = body
            return sealed

        vars(session)["_seal"] = recording

    def write(self, sender: str, data: bytes) -> None:
        entry: dict[str, object] = {"from": sender, "time": round(self.now, 3), "bytes": data.hex()}
        if sender == "client":
            entry["address"] = list(self.address)
        if data in self.bodies:
            entry["body"] = self.bodies[data].hex()
        self.packets.append(entry)

    def step(self) -> None:
        self.now = round(self.now + 0.03, 3)
        for data in self.client.poll(self.now):
            self.write("client", data)
            self.server.on_datagram(self.address, data, self.now)
        for event in self.server.events():
            if isinstance(event, Received):
                self.messages["to_server"] += [message.hex() for message in event.messages]
        for half in self.server._greeter.half_open.values():
            self.listen(half.session)
        for _, data in self.server.poll(self.now):
            self.write("server", data)
            self.client.on_datagram(data, self.now)
            if self.client.session is not None and not self.bodies:
                self.listen(self.client.session)
        for event in self.client.events():
            if isinstance(event, Received):
                self.messages["to_client"] += [message.hex() for message in event.messages]


def record(name: str, transport: Transport, suite: Suite, form: Form) -> dict[str, object]:
    recorder = Recorder(transport, suite, form)
    for _ in range(3):
        recorder.step()
    up, down = recorder.client.session, next(iter(recorder.server.sessions.values()))
    assert up is not None
    up.send_many([b"", b"hello", b"a" * 254, b"b" * 255, b"c" * 3000])
    up.send(b"position", reliable=False)
    recorder.step()
    down.send_many(DOWN_RELIABLE)
    down.send_many(DOWN_UNRELIABLE, reliable=False)
    recorder.step()
    assert recorder.now == DOWN_AT
    if transport.datagram:
        recorder.address = AWAY
    up.send(b"from another address")
    for _ in range(3):
        recorder.step()
    up.close(recorder.now)
    for _ in range(4):
        recorder.step()
    assert up.reason is not None
    draws = entropy_of(SERVER_SEED)
    secret, ephemeral = draws(32), draws(32)
    return {
        "name": name,
        "suite": int(suite),
        "datagram": transport.datagram,
        "server_private": STATIC_KEY.hex(),
        "server_public": recorder.server.public_key.hex(),
        "server_ephemeral_private": ephemeral.hex(),
        "cookie_secret": secret.hex(),
        "client_private": entropy_of(CLIENT_SEED)(32).hex(),
        "app_data": APP_DATA.hex(),
        "packets": recorder.packets,
        "messages": recorder.messages,
        "reason": int(up.reason),
    }


def refused() -> dict[str, str]:
    server = ServerEndpoint(STATIC_KEY, entropy=entropy_of(SERVER_SEED), settings=Settings(sessions_max=0))
    client = ClientEndpoint(server.public_key, entropy=entropy_of(CLIENT_SEED), now=1.0)
    (hello,) = client.poll(1.0)
    server.on_datagram(HOME, hello, 1.0)
    ((_, refuse),) = server.poll(1.0)
    return {"hello": hello.hex(), "refuse": refuse.hex()}


def build(form: Form = PLAIN) -> dict[str, object]:
    return {
        "sessions": [record(*session, form) for session in SESSIONS],
        "refused": refused(),
        "malformed_bodies": MALFORMED,
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(build(), indent=1) + "\n")
