"""A rival of `terrazzo bench channel`: aioquic, one connection, one bidirectional stream, TLS 1.3 with its own ciphers.

16 messages are joined into one `send_stream_data`, followed by one `transmit`; every fourth time the loop (uvloop) gets
a turn, to read acknowledgements: of the ways tried (each transmit by itself, larger writes, the stream writer) none was
faster by more than the noise. The receiver cuts the stream every 64 bytes: with messages of one size no framing is
needed, which favours this rival. Round trips are answered in `quic_event_received` at both ends.
"""

# mypy: disallow-subclassing-any=False
from __future__ import annotations

import asyncio
import datetime
import ssl
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from terrazzo.bench.channel_load import SIZE, THE_PING, Tally, batches

_YIELD_EVERY = 4


class _Receiver(QuicConnectionProtocol):
    """The server's end of one connection."""

    _rest = b""
    _tally: Tally | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived):
            self._tally = self._tally or Tally()
            data = self._rest + event.data
            whole = len(data) - len(data) % SIZE
            self._rest = data[whole:]
            answers = self._tally.take(data[at : at + SIZE] for at in range(0, whole, SIZE))
            if answers:
                self._quic.send_stream_data(event.stream_id, b"".join(answers))


class _Sender(QuicConnectionProtocol):
    """The client's end."""

    answer: asyncio.Future[bytes]
    pings = 0
    times: list[float]
    stream = 0

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived):
            if self.pings:
                self.ping_next()
            else:
                self.answer.set_result(event.data)

    def ping_next(self) -> None:
        """Sends the next ping, or sets the result after the last."""
        self.times.append(time.perf_counter())
        self.pings -= 1
        if self.pings:
            self.say(THE_PING)
        else:
            self.answer.set_result(b"")

    def say(self, data: bytes) -> None:
        """Writes and transmits."""
        self._quic.send_stream_data(self.stream, data)
        self.transmit()


class Aioquic:
    """See above."""

    batch = 16

    async def serve(self, on_ready: Callable[[str], None]) -> None:
        """With a certificate of its own making."""
        configuration = QuicConfiguration(is_client=False, alpn_protocols=["bench"])
        configuration.certificate, configuration.private_key = _certificate()
        server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=_Receiver)
        on_ready(str(server._transport.get_extra_info("sockname")[1]))
        await asyncio.Event().wait()

    async def connect(self, place: str) -> None:
        """See Contender."""
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["bench"], verify_mode=ssl.CERT_NONE)
        self._open = AsyncExitStack()
        connecting = connect("127.0.0.1", int(place), configuration=configuration, create_protocol=_Sender)
        sender = await self._open.enter_async_context(connecting)
        assert isinstance(sender, _Sender)
        self._sender = sender
        self._sender.stream = sender._quic.get_next_available_stream_id()

    async def close(self) -> None:
        """See Contender."""
        await self._open.aclose()

    async def flood(self, count: int) -> bytes:
        """See Contender."""
        sender = self._sender
        sender.answer = asyncio.get_running_loop().create_future()
        for number, batch in enumerate(batches(count, self.batch)):
            sender.say(b"".join(batch))
            if number % _YIELD_EVERY == 0:
                await asyncio.sleep(0)
        return await sender.answer

    async def round_trips(self, count: int) -> list[float]:
        """See Contender."""
        sender = self._sender
        sender.answer = asyncio.get_running_loop().create_future()
        sender.times, sender.pings = [], count + 1
        sender.ping_next()
        await sender.answer
        return [after - before for before, after in zip(sender.times, sender.times[1:], strict=False)]


def _certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
    return made.sign(key, hashes.SHA256()), key
