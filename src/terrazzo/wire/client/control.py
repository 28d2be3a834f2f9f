"""The small frames that go before the others: END, CHALLENGE, PING, ANSWER.

Each is asked for by setting a field here and goes into the next packet with room for it, however small the
window is: they are what keeps a silent or a moved session alive.
"""

from __future__ import annotations

from struct import Struct

from terrazzo._speed import packet

_END = Struct("<BI")
_TOKEN_FRAME_BYTES = 1 + packet.CHALLENGE_BYTES

# As long as a challenge: a packet with nothing but PING pays for the challenge that may have to answer it.
_PINGS = bytes((packet.PING,)) * _TOKEN_FRAME_BYTES


class Control:
    """The control frames that wait to be sent."""

    def __init__(self) -> None:
        self.ping = False
        self.challenge: bytes | None = None
        self.answer: bytes | None = None
        self.end: int | None = None

    @property
    def waits(self) -> bool:
        """Whether anything wants to be sent."""
        return self.ping or self.end is not None or self.challenge is not None or self.answer is not None

    @property
    def reserved_bytes(self) -> int:
        """Room that an acknowledgement must leave: a challenge comes first where very little may be sent."""
        return 0 if self.challenge is None else _TOKEN_FRAME_BYTES

    def take(self, room: int) -> bytes:
        """The frames that fit.

        END comes first and ANSWER last, so the first byte shows whether END is there, and whether there is
        anything that wants an acknowledgement.
        """
        frames = b""
        if self.end is not None and room >= _END.size:
            frames = _END.pack(packet.END, self.end & 0xFFFFFFFF)
            self.end = None
        if self.challenge is not None and room >= len(frames) + _TOKEN_FRAME_BYTES:
            frames += bytes((packet.CHALLENGE,)) + self.challenge
            self.challenge = None
        if self.ping and room > len(frames):
            frames += _PINGS[: room - len(frames)]
            self.ping = False
        if self.answer is not None and room >= len(frames) + _TOKEN_FRAME_BYTES:
            frames += bytes((packet.ANSWER,)) + self.answer
            self.answer = None
        return frames
