"""Every number and every reason of the client channel, once; `docs/wire.md` repeats them for other
implementations.

A limit that both ends must agree on is a constant (the standard). A limit that one end may choose for
itself is a field of `Settings`.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum

import msgspec

from terrazzo._speed import packet
from terrazzo.wire.sentences import Sentence

VERSION = 1

# Sizes of packets. 1200 bytes of UDP payload pass every path that carries IPv6, so there is no probing for more.
HEADER_BYTES = 9
TAG_BYTES = 16
OVERHEAD_BYTES = HEADER_BYTES + TAG_BYTES
PACKET_BYTES_MIN = OVERHEAD_BYTES + 1

# Messages. An unreliable one travels whole in one packet; a reliable one is a part of the stream.
UNRELIABLE_BYTES_MAX = 1024
MESSAGE_BYTES_MAX = 1 << 20

# How far the stream may be sent beyond what the peer has acknowledged: also the most a receiver must hold.
STREAM_WINDOW_BYTES = 256 * 1024
HELD_RANGES_MAX = 2048

# Packets in flight: the window grows and shrinks between these.
WINDOW_PACKETS_INITIAL = 32
WINDOW_PACKETS_MIN = 16
WINDOW_PACKETS_MAX = 8 * packet.ACK_BITS_BYTES_MAX
WINDOW_CUT = 0.7
# A challenge, a PING and a probe do not wait for the window. Beyond this many packets in flight the oldest is given up.
FLIGHT_PACKETS_MAX = 4 * WINDOW_PACKETS_MAX

# Evidence of loss, and the timers where there is none.
LOSS_PACKETS = 3
LOSS_DELAY_FACTOR = 9 / 8
TIMER_STEP_S = 0.001
RTT_INITIAL_S = 0.2
PROBE_BACKOFF_MAX = 6
PROBE_S_MAX = 2.0
BACKOFFS_TO_MIN_WINDOW = 2

# Acknowledgements: at once for every eighth packet and whenever a number is missing, else within the delay. That is a
# little more than a tick: in play there is always a packet that goes out anyway, and takes the acknowledgement along.
ACK_EVERY_PACKETS = 8
ACK_DELAY_S = 0.12
ACK_DELAY_UNIT_S = 0.0001
ACK_BITS_BYTES_MIN = 8
ACK_OVERLAP_PACKETS = 32

# How soon to poll again when a byte budget held something back and nothing else causes a poll.
BLOCKED_S = 0.02

# A new address is challenged only out of bytes that came from it; a challenge alone makes a packet of this size.
CHALLENGE_PACKET_BYTES = OVERHEAD_BYTES + 1 + packet.CHALLENGE_BYTES

# Handshake.
COOKIE_LIFE_S = 10.0
HELLO_RETRY_S = 0.25
HELLO_RETRY_S_MAX = 1.0
APP_DATA_BYTES_MAX = 1024

# What a client may send before it has logged in, where a server asks for that: the stream up to here, so one request of
# this many bytes behind its length, in so many pieces that came too early. No message that may be lost.
STRANGER_MESSAGE_BYTES_MAX = 4096
STRANGER_STREAM_BYTES_MAX = STRANGER_MESSAGE_BYTES_MAX + 4
STRANGER_RANGES_MAX = 16

# The end.
LAST_CALL_S = 1.0
LINGER_S = 3.0
FORGERIES_MAX = 1 << 36


class Suite(IntEnum):
    """The cipher of a session; the client names it, a server supports both."""

    CHACHA20_POLY1305 = 1
    AES_256_GCM = 2


PACKETS_MAX = {Suite.CHACHA20_POLY1305: 1 << 48, Suite.AES_256_GCM: 1 << 28}
"""Packets that one key may seal. A session that gets there ends; the nonce is the packet number and never
repeats."""


LOCAL_REASONS = 128
"""Reasons below this travel in CLOSE frames and REFUSE; the others are known at one end only."""


class Reason(IntEnum):
    """Why a session ended."""

    ENDED = 1  # graceful: both ends have everything
    ABORTED = 2  # the application ended it at once
    SILENT = 3  # no packet came for too long
    SLOW_READER = 4  # the peer does not take what is sent to it
    PROTOCOL = 5  # the peer sent what the standard does not allow
    KEYS_WORN = 6  # a key has sealed as many packets as it may
    END_TIMEOUT = 7  # a graceful end that did not come to its end in time
    SERVER_FULL = 8
    WRONG_VERSION = 9
    WRONG_SUITE = 10
    BANNED = 11
    NO_ANSWER = 128  # the handshake got no answer
    PATH_LOST = 129  # the connection under a WebSocket session closed


class Drop(Sentence):
    """Why a packet was dropped, or a session given up, and the sentence that a console shows for it."""

    TRUNCATED = "truncated", "A packet is shorter than its kind can be."
    OVERSIZED = "oversized", "A packet is longer than a packet may be."
    KIND = "kind", "There is no such kind of packet, or it is not one for this end or this state."
    UNPADDED = "unpadded", "A HELLO is too short to be answered."
    BANNED = "banned", "The address is banned."
    VERSION = "version", "The client speaks another version of the protocol."
    SUITE = "suite", "The client asks for a cipher that the server does not have."
    COOKIE = "cookie", "The cookie of an OPEN is forged, expired or another address's."
    SPENT = "spent", "The cookie of an OPEN has already come with a seal that did not open."
    KEY = "key", "A public key leads nowhere."
    UNKNOWN = "unknown", "There is no session with this number."
    FORGED = "forged", "A packet does not authenticate: its key is wrong, or it is damaged."
    REPLAYED = "replayed", "A packet with this number has come before, or is too old to tell."
    DUPLICATE = "duplicate", "A handshake packet has already done its work."
    SECOND = "second", "A second session was asked for on one WebSocket."
    ADDRESS = "address", "A packet for one connection's session came over another connection."
    HELD_FULL = "held_full", "There is no room to hold what came out of order; it will be sent again."
    EARLY = "early", "A client sent more than it may before it has logged in."
    RATE = "rate", "One address opens more sessions a second than it may."
    BUSY = "busy", "All addresses together open more sessions a second than this server takes in."
    FULL = "full", "The server has as many sessions as it may have."
    CROWDED = "crowded", "A session without a login gave way to a newer one."
    LANE_RATE = "lane_rate", "A client sends more moves a second than it may."
    OVERRUN = "overrun", "The system dropped a packet: its buffer was full, because the process did not read in time."
    ANSWERS_FULL = "answers_full", "There are more handshake answers than are kept between two polls."


Drops = Counter[Drop]


class Transport(msgspec.Struct, frozen=True):
    """What carries the packets: datagrams that may be lost, doubled, reordered, or an ordered connection."""

    packet_bytes_max: int
    datagram: bool


UDP = Transport(packet_bytes_max=1200, datagram=True)
WEBSOCKET = Transport(packet_bytes_max=16 * 1024, datagram=False)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What one end may choose for itself."""

    keep_alive_s: float = 5.0
    silence_s: float = 30.0
    end_timeout_s: float = 5.0
    handshake_timeout_s: float = 10.0
    send_queue_bytes_max: int = 4 << 20
    unreliable_queue_bytes_max: int = 64 * 1024
    send_message_bytes_max: int = MESSAGE_BYTES_MAX
    receive_message_bytes_max: int = MESSAGE_BYTES_MAX
    sessions_max: int = 10_000
    half_open_s: float = 10.0
    needs_admission: bool = False
    """Whether a session is a stranger until the application admits it; otherwise, until its first authentic DATA."""
    strangers_max: int = 1024
    source_strangers_max: int = 256
    opens_per_s: float = 1000.0
    """For unknown addresses together, and again for known ones together; a second's worth at once."""
    source_opens_per_s: float = 100.0
    source_opens_burst: int = 200
    hellos_per_s: float = 5000.0
    answers_max: int = 4096
    lane_per_s: float = 100.0
    """Rows that one session may make in its lane (`lane.py`); a second's worth at once."""


SERVER = Settings(receive_message_bytes_max=64 * 1024)
CLIENT = Settings(send_message_bytes_max=64 * 1024)
