"""The compiled form of the session and its table, which `channel.py`, `session.py` and `table.py` document.

One object holds all of a channel in C fields; no Python object is made for a packet, and one for each message that is
delivered. What is rare stays in Python: chunks that came early are a list of tuples, ends and handshakes are the
endpoint's. Packets are sealed and opened by libsodium (`sodium.py`) or, where it is missing, by `cryptography`.

For tests and tools, the parts of the plain channel (`acks`, `outbox`, `recovery`, `assembly`, `control`, `stats`) are there as
views. Methods have the names of the plain form where they do the same; those that return `int` give -1 for an exception.
"""

from bisect import bisect_left

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport PyObject
from libc.math cimport INFINITY, NAN, fabs
from libc.stdint cimport int64_t, intptr_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove, memset

from terrazzo._speed.datagrams cimport Batch, Entry, read_name, write_name

from terrazzo._speed import packet
from terrazzo.errors import ValueRejected
from terrazzo.wire.client import limits, sodium
from terrazzo.wire.client.channel import ChannelState
from terrazzo.wire.client.cipher import Cipher
from terrazzo.wire.client.events import Received
from terrazzo.wire.client.lane import GAP_S as GAP_OF_LANE, SessionTally
from terrazzo.wire.client.limits import Drop, Drops, Reason, Suite
from terrazzo.wire.client.session import Session as PlainSession
from terrazzo.wire.client.table import Table as PlainTable

from typing import NamedTuple

cdef enum:
    OPEN = 0
    ENDING = 1
    CLOSED = 2
    DATA = 6
    HEADER = 9
    TAG = 16
    OVERHEAD = 25
    K_ACK = 1
    K_STREAM = 2
    K_MESSAGE = 3
    K_PING = 4
    K_END = 5
    K_CLOSE = 6
    K_CHALLENGE = 7
    K_ANSWER = 8
    ACK_HEAD = 12
    ACK_BITS_MAX = 32
    STREAM_HEAD = 7
    TOKEN = 8
    TOKEN_FRAME = 9
    PINGS = 9
    REPLAY = 1024
    KEEP_BYTES = 4096       # a buffer that is larger is given back when it is empty
    PACKET_MAX = 65536

cdef int64_t LOW = 0xFFFFFFFF
cdef int64_t HALF = 0x80000000

# The numbers of limits.py.
cdef int64_t STREAM_WINDOW = limits.STREAM_WINDOW_BYTES
cdef Py_ssize_t HELD_RANGES_MAX = limits.HELD_RANGES_MAX
cdef double WINDOW_INITIAL = limits.WINDOW_PACKETS_INITIAL
cdef double WINDOW_MIN = limits.WINDOW_PACKETS_MIN
cdef double WINDOW_MAX = limits.WINDOW_PACKETS_MAX
cdef double WINDOW_CUT = limits.WINDOW_CUT
cdef int FLIGHT_MAX = limits.FLIGHT_PACKETS_MAX
cdef int64_t LOSS_PACKETS = limits.LOSS_PACKETS
cdef double LOSS_DELAY_FACTOR = limits.LOSS_DELAY_FACTOR
cdef double TIMER_STEP_S = limits.TIMER_STEP_S
cdef double RTT_INITIAL_S = limits.RTT_INITIAL_S
cdef int PROBE_BACKOFF_MAX = limits.PROBE_BACKOFF_MAX
cdef double PROBE_S_MAX = limits.PROBE_S_MAX
cdef int BACKOFFS_TO_MIN_WINDOW = limits.BACKOFFS_TO_MIN_WINDOW
cdef int64_t ACK_EVERY_PACKETS = limits.ACK_EVERY_PACKETS
cdef double ACK_DELAY_S = limits.ACK_DELAY_S
cdef double ACK_DELAY_UNIT_S = limits.ACK_DELAY_UNIT_S
cdef int64_t ACK_BITS_MIN = limits.ACK_BITS_BYTES_MIN
cdef int64_t ACK_OVERLAP = limits.ACK_OVERLAP_PACKETS
cdef double BLOCKED_S = limits.BLOCKED_S
cdef double LAST_CALL_S = limits.LAST_CALL_S
cdef int64_t UNRELIABLE_MAX = limits.UNRELIABLE_BYTES_MAX
cdef int64_t CHALLENGE_PACKET = limits.CHALLENGE_PACKET_BYTES
cdef int64_t PACKETS_AT_END = 2 * limits.WINDOW_PACKETS_MAX
cdef Py_ssize_t PACKET_MIN = limits.PACKET_BYTES_MIN
cdef int LOCAL_REASONS = limits.LOCAL_REASONS
cdef int64_t STRANGER_MESSAGE_MAX = limits.STRANGER_MESSAGE_BYTES_MAX
cdef int64_t STRANGER_STREAM_MAX = limits.STRANGER_STREAM_BYTES_MAX
cdef int64_t STRANGER_RANGES_MAX = limits.STRANGER_RANGES_MAX
cdef int64_t MESSAGE_OVERHEAD = OVERHEAD + ACK_HEAD + ACK_BITS_MAX + 5
cdef double GAP_S = GAP_OF_LANE

cdef int R_ENDED = Reason.ENDED
cdef int R_ABORTED = Reason.ABORTED
cdef int R_SILENT = Reason.SILENT
cdef int R_SLOW_READER = Reason.SLOW_READER
cdef int R_PROTOCOL = Reason.PROTOCOL
cdef int R_KEYS_WORN = Reason.KEYS_WORN
cdef int R_END_TIMEOUT = Reason.END_TIMEOUT

cdef tuple STATES = (ChannelState.OPEN, ChannelState.ENDING, ChannelState.CLOSED)
cdef object REASONS = frozenset(int(reason) for reason in Reason)
cdef object D_REPLAYED = Drop.REPLAYED
cdef object D_FORGED = Drop.FORGED
cdef object D_ADDRESS = Drop.ADDRESS
cdef object D_EARLY = Drop.EARLY
cdef object D_HELD_FULL = Drop.HELD_FULL
cdef object D_LANE_RATE = Drop.LANE_RATE
cdef object make_received = Received

# libsodium.
ctypedef int (*Encrypt)(uint8_t* c, unsigned long long* c_size, const uint8_t* m, unsigned long long m_size,
                        const uint8_t* ad, unsigned long long ad_size, const uint8_t* nsec, const uint8_t* nonce,
                        const uint8_t* key) noexcept
ctypedef int (*Decrypt)(uint8_t* m, unsigned long long* m_size, uint8_t* nsec, const uint8_t* c,
                        unsigned long long c_size, const uint8_t* ad, unsigned long long ad_size, const uint8_t* nonce,
                        const uint8_t* key) noexcept

cdef Encrypt encryptors[3]
cdef Decrypt decryptors[3]


def _find_sodium():
    cdef intptr_t address
    for suite in Suite:
        functions = sodium.find(suite)
        address = functions.encrypt
        encryptors[<int>suite] = <Encrypt><void*>address
        address = functions.decrypt
        decryptors[<int>suite] = <Decrypt><void*>address


_find_sodium()


def has_sodium(suite):
    """Whether packets of this suite are sealed by libsodium."""
    return encryptors[<int>suite] != NULL


# What is used while one packet is read or made, by all sessions: nothing of it is kept.

cdef struct Piece:
    int64_t start       # in the stream
    Py_ssize_t at       # in the body
    Py_ssize_t size


cdef struct Parsed:
    bint eliciting, has_ack
    uint32_t ack_newest, ack_received
    int ack_delay
    Py_ssize_t ack_bits_at, ack_bits_size, challenge_at, answer_at
    int64_t end, close
    Py_ssize_t chunks, loose


cdef Parsed parsed
cdef Piece* chunks = NULL
cdef Piece* loose = NULL
cdef Py_ssize_t pieces_room = 0
cdef Bytes work
cdef Bytes opened
cdef Piece* ready = NULL
cdef Py_ssize_t ready_room = 0
cdef Sent* lost_ones = NULL
cdef int lost_room = 0
cdef Span* spans = NULL
cdef int spans_count = 0, spans_room = 0
cdef uint8_t body_memory[PACKET_MAX]
cdef uint8_t packet_memory[PACKET_MAX]
memset(&work, 0, sizeof(work))
memset(&opened, 0, sizeof(opened))


cdef inline uint32_t read32(const uint8_t* p) noexcept:
    return p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24


cdef inline uint32_t read24(const uint8_t* p) noexcept:
    return p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16


cdef inline uint32_t read16(const uint8_t* p) noexcept:
    return p[0] | <uint32_t>p[1] << 8


cdef inline uint8_t* write16(uint8_t* p, uint32_t value) noexcept:
    p[0] = value & 0xFF
    p[1] = value >> 8 & 0xFF
    return p + 2


cdef inline uint8_t* write32(uint8_t* p, uint32_t value) noexcept:
    return write16(write16(p, value & 0xFFFF), value >> 16)


cdef inline Py_ssize_t packed_size(Py_ssize_t size) noexcept:
    return 1 if size < 255 else 4


cdef inline uint8_t* write_packed(uint8_t* p, Py_ssize_t size) noexcept:
    if size < 255:
        p[0] = <uint8_t>size
        return p + 1
    p[0] = 255
    p[1] = size & 0xFF
    p[2] = size >> 8 & 0xFF
    p[3] = size >> 16 & 0xFF
    return p + 4


cdef inline int64_t expand(int64_t low, int64_t near) noexcept:
    cdef int64_t value = (near & ~LOW) | low
    if value > near + HALF and value > LOW:
        return value - LOW - 1
    if value + HALF < near:
        return value + LOW + 1
    return value


# Rows of bytes.

cdef int make_room(Bytes* row, Py_ssize_t extra) except -1:
    cdef Py_ssize_t room
    cdef uint8_t* p
    if row.start + row.size + extra <= row.room:
        return 0
    if row.size + extra <= row.room and row.start >= row.room // 2:
        memmove(row.p, row.p + row.start, row.size)
        row.start = 0
        return 0
    room = max(2 * row.room, row.size + extra, 64)
    p = <uint8_t*>PyMem_Malloc(room)
    if p == NULL:
        raise MemoryError
    if row.size:
        memcpy(p, row.p + row.start, row.size)
    PyMem_Free(row.p)
    row.p = p
    row.start = 0
    row.room = room
    return 0


cdef inline int append(Bytes* row, const uint8_t* data, Py_ssize_t size) except -1:
    make_room(row, size)
    if size:
        memcpy(row.p + row.start + row.size, data, size)
    row.size += size
    return 0


cdef void drop_front(Bytes* row, Py_ssize_t count) noexcept:
    row.start += count
    row.size -= count
    if not row.size:
        row.start = 0
        if row.room > KEEP_BYTES:
            forget_bytes(row)


cdef void forget_bytes(Bytes* row) noexcept:
    PyMem_Free(row.p)
    row.p = NULL
    row.start = row.size = row.room = 0


cdef int need_pieces(Py_ssize_t count) except -1:
    """Room for so many chunks and messages of one packet."""
    global chunks, loose, pieces_room
    cdef Piece* grown
    if count <= pieces_room:
        return 0
    grown = <Piece*>PyMem_Realloc(chunks, count * sizeof(Piece))
    if grown == NULL:
        raise MemoryError
    chunks = grown
    grown = <Piece*>PyMem_Realloc(loose, count * sizeof(Piece))
    if grown == NULL:
        raise MemoryError
    loose = grown
    pieces_room = count
    return 0


cdef int add_span(int64_t start, int64_t stop) except -1:
    global spans, spans_count, spans_room
    cdef Span* grown
    if spans_count == spans_room:
        grown = <Span*>PyMem_Realloc(spans, max(64, 2 * spans_room) * sizeof(Span))
        if grown == NULL:
            raise MemoryError
        spans = grown
        spans_room = max(64, 2 * spans_room)
    spans[spans_count].start = start
    spans[spans_count].stop = stop
    spans_count += 1
    return 0


cdef bint parse(const uint8_t* p, Py_ssize_t length) except -1:
    """Reads a whole body into `parsed`, `chunks` and `loose`; False when it is malformed."""
    cdef Py_ssize_t at = 0, size, start
    cdef int kind
    memset(&parsed, 0, sizeof(parsed))
    parsed.end = parsed.close = -1
    parsed.challenge_at = parsed.answer_at = -1
    if length == 0:
        return False
    need_pieces(length // 2 + 1)
    while at < length:
        kind = p[at]
        if kind != K_ACK and kind != K_CLOSE and kind != K_ANSWER:
            parsed.eliciting = True
        if kind == K_STREAM:
            start = at + STREAM_HEAD
            if start >= length:
                return False
            size = read16(p + at + 5)
            if size == 0 or size > length - start:
                return False
            chunks[parsed.chunks].start = read32(p + at + 1)
            chunks[parsed.chunks].at = start
            chunks[parsed.chunks].size = size
            parsed.chunks += 1
            at = start + size
        elif kind == K_MESSAGE:
            start = at + 2
            if start > length:
                return False
            size = p[at + 1]
            if size == 255:
                start = at + 5
                if start > length:
                    return False
                size = read24(p + at + 2)
                if size < 255:
                    return False
            if size > length - start:
                return False
            loose[parsed.loose].at = start
            loose[parsed.loose].size = size
            parsed.loose += 1
            at = start + size
        elif kind == K_ACK and not parsed.has_ack:
            start = at + ACK_HEAD
            if start > length:
                return False
            size = p[at + 11]
            if size > ACK_BITS_MAX or size > length - start:
                return False
            parsed.has_ack = True
            parsed.ack_newest = read32(p + at + 1)
            parsed.ack_delay = read16(p + at + 5)
            parsed.ack_received = read32(p + at + 7)
            parsed.ack_bits_at = start
            parsed.ack_bits_size = size
            at = start + size
        elif kind == K_PING:
            at += 1
        elif kind == K_END and parsed.end < 0:
            if length - at < 5:
                return False
            parsed.end = read32(p + at + 1)
            at += 5
        elif kind == K_CLOSE and parsed.close < 0:
            if length - at < 2:
                return False
            parsed.close = p[at + 1]
            at += 2
        elif kind == K_CHALLENGE and parsed.challenge_at < 0:
            if length - at < 1 + TOKEN:
                return False
            parsed.challenge_at = at + 1
            at += 1 + TOKEN
        elif kind == K_ANSWER and parsed.answer_at < 0:
            if length - at < 1 + TOKEN:
                return False
            parsed.answer_at = at + 1
            at += 1 + TOKEN
        else:
            return False
    return True


cdef class Rows:
    def __cinit__(self):
        memset(&self.rows, 0, sizeof(self.rows))
        self.take_number = 1

    def __dealloc__(self):
        forget_bytes(&self.rows)

    def open(self, Py_ssize_t message_bytes):
        if message_bytes < 1:
            raise ValueError("a message in a lane has one byte at least")
        if self.message_bytes != 0 and self.message_bytes != message_bytes:
            raise ValueError(f"the lanes of this endpoint have messages of {self.message_bytes} bytes")
        self.message_bytes = message_bytes

    def take(self):
        cdef bytes taken = PyBytes_FromStringAndSize(<char*>self.rows.p + self.rows.start, self.rows.size)
        drop_front(&self.rows, self.rows.size)
        self.take_number += 1
        return taken

    cdef int put(self, Channel channel, const uint8_t* message) except -1:
        cdef Py_ssize_t size = 4 + self.message_bytes - 1
        cdef uint8_t* row
        if channel.row_take != self.take_number:
            make_room(&self.rows, size)
            channel.row_take = self.take_number
            channel.row_at = self.rows.size
            self.rows.size += size
        row = write32(self.rows.p + self.rows.start + channel.row_at, channel.lane_tag)
        memcpy(row, message + 1, self.message_bytes - 1)
        return 0


cdef class Channel:
    def __cinit__(self):
        self.sent = NULL
        self.resend = NULL
        memset(&self.stream, 0, sizeof(Bytes))
        memset(&self.loose, 0, sizeof(Bytes))
        memset(&self.partial, 0, sizeof(Bytes))

    def __init__(self, transport, settings, double now, drops=None):
        if transport.packet_bytes_max > PACKET_MAX:
            raise ValueError(f"a packet has at most {PACKET_MAX} bytes")
        self.drops = Drops() if drops is None else drops
        self.datagram = transport.datagram
        self.packet_bytes_max = transport.packet_bytes_max
        self.keep_alive_s = settings.keep_alive_s
        self.silence_s = settings.silence_s
        self.end_timeout_s = settings.end_timeout_s
        self.send_queue_bytes_max = settings.send_queue_bytes_max
        self.unreliable_queue_bytes_max = settings.unreliable_queue_bytes_max
        self.send_message_bytes_max = settings.send_message_bytes_max
        self.receive_message_bytes_max = settings.receive_message_bytes_max
        self.heard_at = self.last_sent_at = self.blocked_until = self.end_by = self.newest_at = now
        self.last_call_at = INFINITY
        self.ack_due_at = self.loss_at = INFINITY
        self.newest = self.unreliable_newest = self.told_newest = -1
        self.peer_end = self.end_offset = -1
        memset(self.ring, 0, sizeof(self.ring))
        self.newest_acked = -1
        self.smoothed_s = self.latest_s = RTT_INITIAL_S
        self.variance_s = RTT_INITIAL_S / 2
        self.reset_window()
        self.reset_assembly()
        self.muted_at = NAN

    def __dealloc__(self):
        self.forget_flight()
        PyMem_Free(self.sent)
        PyMem_Free(self.resend)
        forget_bytes(&self.stream)
        forget_bytes(&self.loose)
        forget_bytes(&self.partial)

    # What is asked from Python.

    @property
    def state(self):
        return STATES[self.state_number]

    @property
    def reason(self):
        return Reason(self.reason_number) if self.reason_number else None

    @property
    def answered(self):
        return PyBytes_FromStringAndSize(<char*>self.answered_with, TOKEN) if self.has_answered else None

    @property
    def stats(self):
        return Stats(self)

    @property
    def acks(self):
        return Acks(self)

    @property
    def control(self):
        return Control(self)

    @property
    def recovery(self):
        return Recovery(self)

    @property
    def outbox(self):
        return Outbox(self)

    @property
    def assembly(self):
        return Assembly(self)

    def tally(self):
        return SessionTally(
            self.packets_sent, self.packets_received, self.newest + 1 - self.packets_received, self.bytes_sent,
            self.bytes_received, self.resent_bytes, self.muted, self.muted_bytes, self.gaps, self.gap_max_s,
        )

    # Sending.

    def send(self, bytes message not None, *, bint reliable=True):
        return self.send_one(<uint8_t*>PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message), reliable)

    def send_many(self, messages, *, bint reliable=True):
        cdef bytes message
        cdef Py_ssize_t size, largest = 0, limit
        if self.state_number != OPEN:
            return False
        limit = self.send_message_bytes_max if reliable else UNRELIABLE_MAX
        for message in messages:
            size = len(message)
            if reliable and size > limit:
                self.reject(size, True)
            largest = max(largest, size)
        if largest > limit:
            self.reject(largest, False)
        for message in messages:
            if reliable:
                self.queue_reliable(<uint8_t*>PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message))
            else:
                self.queue_loose(<uint8_t*>PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message))
        if not reliable:
            self.limit_loose()
        elif self.stream.size > self.send_queue_bytes_max:
            self.finish(R_SLOW_READER, False)
        return self.state_number == OPEN

    def reject(self, Py_ssize_t size, bint reliable):
        if reliable:
            limit = self.send_message_bytes_max
            raise ValueRejected(f"a message of {size} bytes is over the limit of {limit}; send it in parts")
        raise ValueRejected(f"an unreliable message has at most {UNRELIABLE_MAX} bytes; send it reliably")

    cdef bint send_one(self, const uint8_t* message, Py_ssize_t size, bint reliable) except -1:
        if self.state_number != OPEN:
            return False
        if size > (self.send_message_bytes_max if reliable else UNRELIABLE_MAX):
            self.reject(size, reliable)
        if reliable:
            self.queue_reliable(message, size)
            if self.stream.size > self.send_queue_bytes_max:
                self.finish(R_SLOW_READER, False)
            return self.state_number == OPEN
        self.queue_loose(message, size)
        if self.loose_bytes > self.unreliable_queue_bytes_max:
            self.limit_loose()
        return True

    cdef int queue_reliable(self, const uint8_t* message, Py_ssize_t size) except -1:
        cdef uint8_t* p
        make_room(&self.stream, size + 4)
        p = write_packed(self.stream.p + self.stream.start + self.stream.size, size)
        if size:
            memcpy(p, message, size)
        self.stream.size += packed_size(size) + size
        return 0

    cdef int queue_loose(self, const uint8_t* message, Py_ssize_t size) except -1:
        cdef uint8_t* p
        make_room(&self.loose, size + 2)
        p = write16(self.loose.p + self.loose.start + self.loose.size, <uint32_t>size)
        if size:
            memcpy(p, message, size)
        self.loose.size += size + 2
        self.loose_bytes += size
        self.loose_count += 1
        return 0

    cdef int limit_loose(self) except -1:
        while self.loose_bytes > self.unreliable_queue_bytes_max:
            self.drop_loose()
            self.unreliable_dropped += 1
        return 0

    cdef void drop_loose(self) noexcept:
        cdef Py_ssize_t size = read16(self.loose.p + self.loose.start)
        self.loose_bytes -= size
        self.loose_count -= 1
        drop_front(&self.loose, size + 2)

    def close(self, double now):
        if self.state_number == OPEN:
            self.state_number = ENDING
            self.end_by = now + self.end_timeout_s

    def abort(self, reason=Reason.ABORTED):
        self.finish(reason, False)

    def confine(self):
        self.is_confined = True
        self.message_bytes_max = min(STRANGER_MESSAGE_MAX, self.receive_message_bytes_max)
        self.ranges_max = STRANGER_RANGES_MAX
        self.stream_end_max = STRANGER_STREAM_MAX

    def set_free(self):
        self.is_confined = False
        self.message_bytes_max = self.receive_message_bytes_max
        self.ranges_max = HELD_RANGES_MAX
        self.stream_end_max = -1

    def poll(self, double now, budget_bytes=None):
        cdef Py_ssize_t size
        cdef list packets = []
        self.begin_poll(now, budget_bytes is not None, 0 if budget_bytes is None else budget_bytes)
        while True:
            size = self.next_packet(body_memory, now)
            if size < 0:
                break
            packets.append((self.next_number - 1, PyBytes_FromStringAndSize(<char*>body_memory, size)))
        self.finish_poll(now)
        return packets

    def next_timeout(self):
        cdef double at = self.timeout()
        return None if self.state_number == CLOSED else at

    cdef double timeout(self) noexcept:
        """When it must be polled; infinity when it is over."""
        cdef double at, silence_by, probe_at
        if self.state_number == CLOSED:
            return INFINITY
        silence_by = self.heard_at + self.silence_s
        if self.last_call_at != INFINITY:
            silence_by = self.last_call_at + LAST_CALL_S
        at = min(self.ack_due_at, self.loss_at)
        if self.flying and self.datagram:
            probe_at = self.flight_sent_at + self.probe_wait()
            at = min(at, probe_at)
        at = min(at, self.last_sent_at + self.keep_alive_s)
        at = min(at, silence_by)
        if self.state_number == ENDING:
            at = min(at, self.end_by)
        return max(self.blocked_until, at)

    # Receiving.

    def on_packet(self, int64_t number, bytes body not None, double now):
        self.read(number, <uint8_t*>PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body), now)
        got, self.got = self.got, None
        return [] if got is None else got

    cdef inline bint is_fresh(self, int64_t number) noexcept:
        if number > self.newest:
            return True
        return (
            number >= 0
            and self.newest - number < REPLAY
            and not self.ring[(number >> 6) & (RING_WORDS - 1)] >> (number & 63) & 1
        )

    cdef void mark(self, int64_t number) noexcept:
        cdef int64_t word, last
        if number > self.newest:
            word = (self.newest >> 6) + 1 if self.newest >= 0 else 0
            last = number >> 6
            if last - word >= RING_WORDS:
                word = last - RING_WORDS + 1
            while word <= last:
                self.ring[word & (RING_WORDS - 1)] = 0
                word += 1
            self.newest = number
        elif number < 0 or self.newest - number >= REPLAY:
            return
        self.ring[(number >> 6) & (RING_WORDS - 1)] |= <uint64_t>1 << (number & 63)

    cdef int read(self, int64_t number, const uint8_t* body, Py_ssize_t size, double now) except -1:
        """A packet; what it delivers is in `got`, or None."""
        cdef Py_ssize_t i, early = 0
        cdef int64_t early_bytes = 0
        self.got = None
        if not self.is_fresh(number):
            self.drops[D_REPLAYED] += 1
            return 0
        if not parse(body, size):
            return self.finish(R_PROTOCOL, False)
        if self.state_number == CLOSED:
            self.mark(number)
            self.say_close = parsed.close < 0
            return 0
        for i in range(parsed.chunks):
            chunks[i].start = expand(chunks[i].start, self.expected)
            if chunks[i].start + chunks[i].size > self.expected + STREAM_WINDOW:
                return self.finish(R_PROTOCOL, False)
        for i in range(parsed.chunks):
            if self.stream_end_max >= 0 and chunks[i].start + chunks[i].size > self.stream_end_max:
                self.drops[D_EARLY] += 1
                return 0
            if chunks[i].start > self.expected:
                early += 1
                early_bytes += chunks[i].size
        if early and (
            self.held_bytes + early_bytes > STREAM_WINDOW
            or (0 if self.held is None else len(self.held)) + early > self.ranges_max
        ):
            self.drops[D_HELD_FULL] += 1
            return 0
        self.note_arrival(number, now)
        self.packets_received += 1
        self.bytes_received += size
        self.heard_at = now
        self.last_call_at = INFINITY
        if not self.act(number, body, now):
            self.got = None
            self.finish(R_PROTOCOL, False)
        return 0

    cdef void note_arrival(self, int64_t number, double now) noexcept:
        cdef int64_t newest = self.newest
        self.mark(number)
        if number > newest:
            self.newest_at = now
        if not parsed.eliciting:
            return
        self.ack_waiting += 1
        if self.ack_waiting >= ACK_EVERY_PACKETS or number != newest + 1:
            self.ack_due_at = now
        elif self.ack_due_at == INFINITY:
            self.ack_due_at = now + ACK_DELAY_S

    cdef int act(self, int64_t number, const uint8_t* body, double now) except -1:
        """False when the packet cannot be right."""
        cdef int64_t final
        if parsed.has_ack and not self.on_ack(body, now):
            return False
        if parsed.chunks and not self.assemble(body, now):
            return False
        if parsed.end >= 0:
            final = expand(parsed.end, self.expected)
            if self.peer_end >= 0 and self.peer_end != final:
                return False
            self.peer_end = final
            self.close(now)
        if self.peer_end >= 0 and self.expected > self.peer_end:
            return False
        if parsed.loose and number > self.unreliable_newest:
            self.unreliable_newest = number
            if self.is_confined:
                self.drops[D_EARLY] += 1
            else:
                self.deliver_loose(body, now)
        if parsed.challenge_at >= 0:
            self.has_answer = True
            memcpy(self.answer, body + parsed.challenge_at, TOKEN)
        if parsed.answer_at >= 0:
            self.has_answered = True
            memcpy(self.answered_with, body + parsed.answer_at, TOKEN)
        if parsed.close >= 0:
            self.on_close(parsed.close)
        elif self.state_number == ENDING:
            if self.end_acked and not self.stream.size and self.expected == self.peer_end:
                self.finish(R_ENDED, False)
        return True

    cdef int on_close(self, int64_t code) except -1:
        if code not in REASONS or code >= LOCAL_REASONS or (code == R_ENDED and self.state_number != ENDING):
            code = R_ABORTED
        return self.finish(<int>code, True)

    cdef int deliver_loose(self, const uint8_t* body, double now) except -1:
        cdef Py_ssize_t i, size
        cdef const uint8_t* message
        for i in range(parsed.loose):
            message = body + loose[i].at
            size = loose[i].size
            if self.has_lane and size == self.lane_size and message[0] == self.lane_first:
                if self.row_take == self.rows.take_number or self.lane_has_token(now):
                    self.rows.put(self, message)
                else:
                    self.drops[D_LANE_RATE] += 1
            elif self.is_muting and self.is_muted(message, size):
                if self.muted_at == self.muted_at:
                    if now - self.muted_at > self.gap_max_s:
                        self.gap_max_s = now - self.muted_at
                    self.gaps += now - self.muted_at > GAP_S
                self.muted_at = now
            else:
                if self.got is None:
                    self.got = []
                self.got.append(PyBytes_FromStringAndSize(<char*>message, size))
        return 0

    cdef bint is_muted(self, const uint8_t* message, Py_ssize_t size) noexcept:
        if not size or not self.muted_kinds[message[0] >> 6] >> (message[0] & 63) & 1:
            return False
        self.muted += 1
        self.muted_bytes += size
        return True

    cdef bint lane_has_token(self, double now) noexcept:
        if self.lane_since == self.lane_since:
            self.lane_tokens = min(self.lane_tokens + (now - self.lane_since) * self.lane_per_s, self.lane_burst)
        self.lane_since = now
        if self.lane_tokens < 1.0:
            return False
        self.lane_tokens -= 1.0
        return True

    # The stream that comes in.

    cdef void reset_assembly(self) noexcept:
        self.expected = self.held_bytes = 0
        self.held = None
        forget_bytes(&self.partial)
        self.message_bytes_max = self.receive_message_bytes_max
        self.ranges_max = HELD_RANGES_MAX
        self.stream_end_max = -1

    cdef int assemble(self, const uint8_t* body, double now) except -1:
        """Takes the chunks in and delivers what is complete; False when the stream is malformed."""
        cdef int64_t before = self.expected
        cdef Py_ssize_t i
        cdef Bytes* into = &self.partial if self.partial.size else &work
        work.start = work.size = 0
        for i in range(parsed.chunks):
            if chunks[i].start <= self.expected:
                self.extend(into, chunks[i].start, body + chunks[i].at, chunks[i].size)
            else:
                self.hold(chunks[i].start, PyBytes_FromStringAndSize(<char*>body + chunks[i].at, chunks[i].size))
        if self.expected == before:
            return True
        while self.held and <int64_t>self.held[0][0] <= self.expected:
            start, data = self.held.pop(0)
            self.held_bytes -= len(data)
            self.extend(into, start, <uint8_t*>PyBytes_AS_STRING(data), len(data))
        return self.release(into, now)

    cdef int extend(self, Bytes* into, int64_t start, const uint8_t* data, Py_ssize_t size) except -1:
        cdef int64_t known = self.expected - start
        if known < size:
            append(into, data + known, size - known)
            self.expected = start + size
        return 0

    cdef int hold(self, int64_t start, bytes data) except -1:
        chunk = (start, data)
        if self.held is None:
            self.held = []
        at = bisect_left(self.held, chunk)
        if self.held[at : at + 1] != [chunk]:
            self.held.insert(at, chunk)
            self.held_bytes += len(data)
        return 0

    cdef int release(self, Bytes* into, double now) except -1:
        """Delivers every complete message at the front of the row; keeps the rest. False for a wrong length."""
        global ready, ready_room
        cdef Py_ssize_t at = 0, end = into.size, head, size, count = 0, i
        cdef const uint8_t* p = into.p + into.start
        cdef Piece* grown
        while at < end:
            head = 1
            size = p[at]
            if size == 255:
                head = 4
                if end - at < head:
                    break
                size = read24(p + at + 1)
                if size < 255:
                    return False
            if size > self.message_bytes_max:
                return False
            if end - at < head + size:
                break
            if count == ready_room:
                grown = <Piece*>PyMem_Realloc(ready, max(64, 2 * ready_room) * sizeof(Piece))
                if grown == NULL:
                    raise MemoryError
                ready = grown
                ready_room = max(64, 2 * ready_room)
            ready[count].at = at + head
            ready[count].size = size
            count += 1
            at += head + size
        for i in range(count):
            if self.is_muting and self.is_muted(p + ready[i].at, ready[i].size):
                continue
            if self.got is None:
                self.got = []
            self.got.append(PyBytes_FromStringAndSize(<char*>p + ready[i].at, ready[i].size))
        if into == &work:
            if at < end:
                append(&self.partial, p + at, end - at)
            if work.room > 16 * KEEP_BYTES:
                forget_bytes(&work)
        else:
            drop_front(into, at)
            if not into.size:
                forget_bytes(into)
        return True

    # Acknowledgements of the peer, and what is lost.

    cdef void reset_window(self) noexcept:
        self.window = WINDOW_INITIAL
        self.threshold = WINDOW_MAX
        self.cut_before = -1

    cdef double probe_wait(self) noexcept:
        cdef double wait = self.smoothed_s + max(4 * self.variance_s, TIMER_STEP_S) + ACK_DELAY_S
        return min(wait * <double>(1 << self.backoffs), max(PROBE_S_MAX, wait))

    cdef int on_ack(self, const uint8_t* body, double now) except -1:
        cdef int64_t newest = expand(parsed.ack_newest, self.next_number)
        cdef int64_t received = expand(parsed.ack_received, self.base)
        cdef int64_t behind
        cdef const uint8_t* bits = body + parsed.ack_bits_at
        cdef int i, count, acked = 0, flying = self.flying
        cdef bint has_end = False, has_sample = False, is_named
        cdef double sampled_at = 0.0, delay_s = parsed.ack_delay * ACK_DELAY_UNIT_S
        cdef Sent* sent
        if newest >= self.next_number or received > self.sent_offset:
            return False
        for i in range(self.sent_first, self.sent_stop):
            sent = &self.sent[i]
            if sent.gone:
                continue
            behind = newest - 1 - sent.number
            if not self.datagram:
                is_named = sent.number <= newest
            elif behind < 0:
                if behind < -1:
                    break
                is_named = True
            else:
                is_named = behind < 8 * parsed.ack_bits_size and bits[behind >> 3] >> (behind & 7) & 1
            if not is_named:
                continue
            if sent.number == newest and (self.datagram or not acked):
                has_sample = True
                sampled_at = sent.sent_at
            acked += 1
            has_end |= sent.end
            self.forget_sent(sent)
        self.trim_flight()
        if newest > self.newest_acked:
            self.newest_acked = newest
        if acked:
            if has_sample:
                self.sample(now - sampled_at, delay_s)
            self.backoffs = 0
            if flying * 2 >= self.window:
                self.window += acked if self.window < self.threshold else acked / self.window
                self.window = min(self.window, WINDOW_MAX)
        count = self.find_lost(now)
        if received > self.base:
            drop_front(&self.stream, received - self.base)
            self.base = received
        if self.end_sent and has_end:
            self.end_acked = True
        self.send_again(lost_ones, count)
        return True

    cdef void forget_sent(self, Sent* sent) noexcept:
        PyMem_Free(sent.more)
        sent.more = NULL
        sent.gone = True
        self.flying -= 1

    cdef void trim_flight(self) noexcept:
        """The row begins and ends with a packet that is in flight."""
        if not self.flying:
            self.sent_first = self.sent_stop = 0
            return
        while self.sent[self.sent_first].gone:
            self.sent_first += 1
        while self.sent[self.sent_stop - 1].gone:
            self.sent_stop -= 1

    cdef void forget_flight(self) noexcept:
        cdef int i
        for i in range(self.sent_first, self.sent_stop):
            if not self.sent[i].gone:
                self.forget_sent(&self.sent[i])
        self.sent_first = self.sent_stop = 0

    cdef void sample(self, double rtt_s, double delay_s) noexcept:
        rtt_s = max(rtt_s - min(delay_s, ACK_DELAY_S, max(rtt_s, 0.0)), 0.0)
        self.latest_s = rtt_s
        self.samples += 1
        if self.samples == 1:
            self.smoothed_s = rtt_s
            self.variance_s = rtt_s / 2
            return
        self.variance_s += (fabs(self.smoothed_s - rtt_s) - self.variance_s) / 4
        self.smoothed_s += (rtt_s - self.smoothed_s) / 8

    cdef int find_lost(self, double now) except -1:
        """Takes out of flight the packets that are lost by the evidence, into `lost_ones`; gives how many."""
        global lost_ones, lost_room
        cdef double patience
        cdef int i, count = 0
        cdef int64_t newest_lost = -1
        cdef Sent* sent
        cdef Sent* grown
        self.loss_at = INFINITY
        if not self.datagram:
            return 0
        patience = max(LOSS_DELAY_FACTOR * max(self.smoothed_s, self.latest_s), TIMER_STEP_S)
        for i in range(self.sent_first, self.sent_stop):
            sent = &self.sent[i]
            if sent.gone:
                continue
            if sent.number >= self.newest_acked:
                break
            if sent.number > self.newest_acked - LOSS_PACKETS and sent.sent_at + patience > now:
                self.loss_at = sent.sent_at + patience
                break
            if count == lost_room:
                grown = <Sent*>PyMem_Realloc(lost_ones, max(64, 2 * lost_room) * sizeof(Sent))
                if grown == NULL:
                    raise MemoryError
                lost_ones = grown
                lost_room = max(64, 2 * lost_room)
            newest_lost = sent.number
            lost_ones[count] = sent[0]
            sent.more = NULL  # it is the copy's now
            self.forget_sent(sent)
            count += 1
        if count:
            self.trim_flight()
            self.lost_count += count
            if newest_lost >= self.cut_before:
                self.window = max(self.window * WINDOW_CUT, WINDOW_MIN)
                self.threshold = self.window
                self.cut_before = (self.sent[self.sent_stop - 1].number if self.flying else newest_lost) + 1
        return count

    cdef int send_again(self, Sent* lost, int count) except -1:
        """The contents of lost packets go out again; what `find_lost` copied is given back."""
        cdef int i, k
        for i in range(count):
            if lost[i].first.stop > lost[i].first.start:
                self.push_resend(lost[i].first.start, lost[i].first.stop)
            for k in range(lost[i].more_count):
                self.push_resend(lost[i].more[k].start, lost[i].more[k].stop)
            if lost[i].end and not self.end_acked:
                self.end_sent = False
            PyMem_Free(lost[i].more)
            lost[i].more = NULL
        return 0

    cdef int push_resend(self, int64_t start, int64_t stop) except -1:
        cdef Span* grown
        if stop <= self.base:
            return 0
        if self.resend_stop > self.resend_first and self.resend[self.resend_stop - 1].stop == start:
            self.resend[self.resend_stop - 1].stop = stop
            return 0
        if self.resend_first == self.resend_stop:
            self.resend_first = self.resend_stop = 0
        if self.resend_stop == self.resend_room and self.resend_first >= self.resend_room // 2 > 0:
            self.resend_stop -= self.resend_first
            memmove(self.resend, self.resend + self.resend_first, self.resend_stop * sizeof(Span))
            self.resend_first = 0
        if self.resend_stop == self.resend_room:
            grown = <Span*>PyMem_Realloc(self.resend, max(8, 2 * self.resend_room) * sizeof(Span))
            if grown == NULL:
                raise MemoryError
            self.resend = grown
            self.resend_room = max(8, 2 * self.resend_room)
        self.resend[self.resend_stop].start = start
        self.resend[self.resend_stop].stop = stop
        self.resend_stop += 1
        return 0

    # The end.

    cdef int finish(self, int reason, bint by_peer) except -1:
        if self.state_number == CLOSED:
            return 0
        self.state_number = CLOSED
        self.reason_number = reason
        self.closed_by_peer = by_peer
        self.say_close = not by_peer
        forget_bytes(&self.stream)
        forget_bytes(&self.loose)
        self.base = self.sent_offset = self.resent_bytes = self.loose_bytes = self.loose_count = 0
        self.resend_first = self.resend_stop = 0
        self.reset_assembly()
        self.forget_flight()
        return 0

    # Time.

    cdef int on_time(self, double now) except -1:
        cdef int count
        cdef Sent oldest
        if self.state_number == CLOSED:
            return 0
        if now >= self.heard_at + self.silence_s:
            if self.last_call_at == INFINITY:
                self.last_call_at = now
                self.ping = True
            elif now >= self.last_call_at + LAST_CALL_S:
                self.finish(R_SILENT, False)
        if self.state_number == ENDING and now >= self.end_by:
            self.finish(R_END_TIMEOUT, False)
        if now >= self.loss_at:
            count = self.find_lost(now)
            self.send_again(lost_ones, count)
        if self.flying and self.datagram and not self.probe and now >= self.flight_sent_at + self.probe_wait():
            self.probes += 1
            self.backoffs = min(self.backoffs + 1, PROBE_BACKOFF_MAX)
            if self.backoffs >= BACKOFFS_TO_MIN_WINDOW:
                self.window = WINDOW_MIN
            oldest = self.sent[self.sent_first]
            self.repeat(&oldest)
            self.probe = True
            self.ping = True
        if now >= self.last_sent_at + self.keep_alive_s:
            self.ping = True
        return 0

    cdef int repeat(self, Sent* sent) except -1:
        """Sends the content of a packet again that stays in flight."""
        cdef int k
        if sent.first.stop > sent.first.start:
            self.push_resend(sent.first.start, sent.first.stop)
        for k in range(sent.more_count):
            self.push_resend(sent.more[k].start, sent.more[k].stop)
        if sent.end and not self.end_acked:
            self.end_sent = False
        return 0

    # Making packets.

    cdef int begin_poll(self, double now, bint has_budget, int64_t budget) except -1:
        self.on_time(now)
        self.has_budget = has_budget
        self.budget_bytes = budget
        self.budget_left = budget if has_budget else <int64_t>1 << 62
        self.blocked = False
        return 0

    cdef Py_ssize_t next_packet(self, uint8_t* body, double now) except -2:
        """Writes the next body (its number is `next_number - 1` then); gives its size, or -1 when there is none."""
        cdef int64_t room = min(self.budget_left, self.packet_bytes_max) - OVERHEAD
        cdef Py_ssize_t size
        if self.state_number == CLOSED:
            if not self.say_close or self.reason_number >= LOCAL_REASONS or room < 2:
                return -1
            self.say_close = False
            body[0] = K_CLOSE
            body[1] = <uint8_t>self.reason_number
            size = 2
        else:
            size = self.next_body(body, room, now)
            if size < 0:
                return -1
        self.budget_left -= size + OVERHEAD
        self.next_number += 1
        self.last_sent_at = now
        self.packets_sent += 1
        self.bytes_sent += size
        return size

    cdef void finish_poll(self, double now) noexcept:
        if self.blocked and self.has_budget:
            while self.loose_count and (
                <int64_t>read16(self.loose.p + self.loose.start) > self.budget_bytes - MESSAGE_OVERHEAD
            ):
                self.drop_loose()
                self.unreliable_dropped += 1
            self.blocked_until = now + BLOCKED_S

    cdef int64_t stream_end(self) noexcept:
        return self.base + self.stream.size

    cdef bint stream_waits(self) noexcept:
        if self.resend_stop > self.resend_first:
            return True
        return self.sent_offset < min(self.stream_end(), self.base + STREAM_WINDOW)

    cdef Py_ssize_t next_body(self, uint8_t* body, int64_t room, double now) except -2:
        global spans_count
        cdef bint waits, has_ack = False, stream_waits = self.stream_waits()
        cdef bint control_waits, end
        cdef Py_ssize_t ack_size = 0, control_size = 0, at, size, used, share, i
        cdef int64_t left, bits_size = 0, taken = 0
        cdef uint8_t* p
        cdef const uint8_t* message
        if self.state_number == ENDING and not self.end_sent:
            if self.sent_offset == self.stream_end() and self.resend_stop == self.resend_first:
                self.end_offset = self.stream_end()
        control_waits = self.ping or self.end_offset >= 0 or self.has_challenge or self.has_answer
        waits = (stream_waits or self.loose_count > 0) and (self.probe or self.flying < self.window)
        if not (waits or control_waits or now >= self.ack_due_at):
            return -1
        if self.ack_waiting:
            bits_size = (self.newest - self.told_newest + ACK_OVERLAP + 7) // 8
            bits_size = min(max(bits_size, ACK_BITS_MIN), <int64_t>ACK_BITS_MAX)
            has_ack = room - (TOKEN_FRAME if self.has_challenge else 0) >= ACK_HEAD + bits_size
        if has_ack:
            ack_size = ACK_HEAD + bits_size
        left = room - ack_size
        if control_waits:
            control_size = self.take_control(body + ack_size, left)
        left -= control_size
        spans_count = 0
        if waits:
            if self.loose_count:
                share = left // 2 if stream_waits else left
                at = 0
                used = 0
                while taken < self.loose_count:
                    size = read16(self.loose.p + self.loose.start + at)
                    used += size + 1 + packed_size(size)
                    if used > left or (taken and used > share):
                        used -= size + 1 + packed_size(size)
                        break
                    taken += 1
                    at += size + 2
                left -= used
            self.take_spans(left)
        if not (has_ack or control_size or spans_count or taken):
            self.blocked = True
            return -1
        p = body
        if has_ack:
            p = self.write_ack(body, bits_size, now)
        if spans_count or taken or (control_size and p[0] != K_ANSWER):
            end = control_size > 0 and p[0] == K_END
            self.end_sent |= end
            self.probe = False
            self.note_sent(now, spans, spans_count, end)
        p += control_size
        for i in range(spans_count):
            size = spans[i].stop - spans[i].start
            p[0] = K_STREAM
            p = write32(p + 1, <uint32_t>(spans[i].start & LOW))
            p = write16(p, <uint32_t>size)
            memcpy(p, self.stream.p + self.stream.start + (spans[i].start - self.base), size)
            p += size
        for i in range(taken):
            message = self.loose.p + self.loose.start
            size = read16(message)
            p[0] = K_MESSAGE
            p = write_packed(p + 1, size)
            memcpy(p, message + 2, size)
            p += size
            self.drop_loose()
        return p - body

    cdef uint8_t* write_ack(self, uint8_t* p, int64_t bits_size, double now) noexcept:
        cdef double delay = (now - self.newest_at) / ACK_DELAY_UNIT_S
        cdef int64_t i, number
        p[0] = K_ACK
        p = write32(p + 1, <uint32_t>(self.newest & LOW))
        p = write16(p, 0xFFFF if delay >= 65535.0 else <uint32_t>delay if delay > 0.0 else 0)
        p = write32(p, <uint32_t>(self.expected & LOW))
        p[0] = <uint8_t>bits_size
        p += 1
        memset(p, 0, bits_size)
        for i in range(8 * bits_size):
            number = self.newest - 1 - i
            if number < 0:
                break
            if self.ring[(number >> 6) & (RING_WORDS - 1)] >> (number & 63) & 1:
                p[i >> 3] |= 1 << (i & 7)
        self.ack_waiting = 0
        self.ack_due_at = INFINITY
        self.told_newest = self.newest
        return p + bits_size

    cdef Py_ssize_t take_control(self, uint8_t* body, int64_t room) noexcept:
        cdef Py_ssize_t at = 0, count
        if self.end_offset >= 0 and room >= 5:
            body[0] = K_END
            write32(body + 1, <uint32_t>(self.end_offset & LOW))
            self.end_offset = -1
            at = 5
        if self.has_challenge and room >= at + TOKEN_FRAME:
            body[at] = K_CHALLENGE
            memcpy(body + at + 1, self.challenge, TOKEN)
            self.has_challenge = False
            at += TOKEN_FRAME
        if self.ping and room > at:
            count = min(<int64_t>PINGS, room - at)
            memset(body + at, K_PING, count)
            self.ping = False
            at += count
        if self.has_answer and room >= at + TOKEN_FRAME:
            body[at] = K_ANSWER
            memcpy(body + at + 1, self.answer, TOKEN)
            self.has_answer = False
            at += TOKEN_FRAME
        return at

    cdef int take_spans(self, int64_t room) except -1:
        cdef int64_t start, stop, end
        cdef Span* span
        room -= STREAM_HEAD
        while room > 0:
            if self.resend_stop > self.resend_first:
                span = &self.resend[self.resend_first]
                start = max(span.start, self.base)
                stop = min(span.stop, start + room)
                if stop < span.stop:
                    span.start = stop
                else:
                    self.resend_first += 1
                if stop <= start:
                    continue
                self.resent_bytes += stop - start
            else:
                start = self.sent_offset
                end = self.stream_end()
                stop = min(min(end, start + room), self.base + STREAM_WINDOW)
                if stop <= start:
                    break
                self.sent_offset = stop
            add_span(start, stop)
            room -= stop - start + STREAM_HEAD
        return 0

    cdef int note_sent(self, double now, Span* carried, int count, bint end) except -1:
        """A packet that wants an acknowledgement, and has the number `next_number`."""
        cdef Sent* sent
        cdef Sent given_up
        cdef int room, used
        if self.sent_stop == self.sent_room:
            used = self.sent_stop - self.sent_first
            if self.sent_first and self.sent_first >= self.sent_room // 2:
                memmove(self.sent, self.sent + self.sent_first, used * sizeof(Sent))
                self.sent_first = 0
                self.sent_stop = used
            else:
                room = max(4, 2 * self.sent_room)
                sent = <Sent*>PyMem_Realloc(self.sent, room * sizeof(Sent))
                if sent == NULL:
                    raise MemoryError
                self.sent = sent
                self.sent_room = room
        sent = &self.sent[self.sent_stop]
        memset(sent, 0, sizeof(Sent))
        sent.number = self.next_number
        sent.sent_at = now
        sent.end = end
        if count:
            sent.first = carried[0]
        if count > 1:
            sent.more = <Span*>PyMem_Malloc((count - 1) * sizeof(Span))
            if sent.more == NULL:
                raise MemoryError
            memcpy(sent.more, carried + 1, (count - 1) * sizeof(Span))
            sent.more_count = count - 1
        self.sent_stop += 1
        self.flying += 1
        self.flight_sent_at = now
        if self.flying > FLIGHT_MAX:
            given_up = self.sent[self.sent_first]
            self.sent[self.sent_first].more = NULL  # it is the copy's now
            self.forget_sent(&self.sent[self.sent_first])
            self.trim_flight()
            self.lost_count += 1
            self.send_again(&given_up, 1)
        return 0


cdef class Session:
    def __init__(
        self, *, own_id, peer_id, suite, bytes send_key not None, bytes receive_key not None, address, transport,
        settings, entropy, drops, double now, source="",
    ):
        self.id = own_id
        self.own_id = own_id
        self.peer_id = peer_id
        self.address = address
        self.source = source
        self.is_admitted = False
        self.channel = Channel(transport, settings, now, drops)
        self.suite = suite
        self.has_keys = encryptors[self.suite] != NULL and len(send_key) == 32 and len(receive_key) == 32
        if self.has_keys:
            memcpy(self.send_key, PyBytes_AS_STRING(send_key), 32)
            memcpy(self.receive_key, PyBytes_AS_STRING(receive_key), 32)
        else:
            self.python_seal = Cipher(suite, send_key).seal
            self.python_open = Cipher(suite, receive_key).open
        self.packets_max = limits.PACKETS_MAX[suite]
        self.movable = transport.datagram
        self.lane_per_s = settings.lane_per_s
        self.entropy = entropy
        self.drops = drops
        self.slot = -1

    @property
    def address(self):
        return self.own_address

    @address.setter
    def address(self, address):
        self.own_address = address
        self.name_size = -1

    @property
    def state(self):
        return STATES[self.channel.state_number]

    @property
    def reason(self):
        return self.channel.reason

    @property
    def path_proved(self):
        return not self.has_token

    @property
    def heard_at(self):
        return self.channel.heard_at

    @property
    def round_trip_s(self):
        return self.channel.smoothed_s if self.channel.samples else None

    @property
    def rows(self):
        return self.channel.rows

    @rows.setter
    def rows(self, Rows rows):
        self.channel.rows = rows

    cdef int touch(self) except -1:
        if self.table is not None:
            self.table.c_touch(self)
        elif self.on_touched is not None:
            self.on_touched(self)
        return 0

    def probe(self):
        self.touch()
        self.channel.ping = True

    def send(self, bytes message not None, *, bint reliable=True):
        self.touch()
        return self.channel.send_one(<uint8_t*>PyBytes_AS_STRING(message), PyBytes_GET_SIZE(message), reliable)

    def send_many(self, messages, *, bint reliable=True):
        self.touch()
        return self.channel.send_many(messages, reliable=reliable)

    def send_part(self, data, Py_ssize_t start, Py_ssize_t stop, *, bint reliable=True):
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if not 0 <= start <= stop <= view.len:
                raise ValueError("a part that the buffer does not have")
            self.touch()
            return self.channel.send_one(<uint8_t*>view.buf + start, stop - start, reliable)
        finally:
            PyBuffer_Release(&view)

    def set_lane(self, int first_byte, Py_ssize_t size, int64_t tag):
        cdef Channel channel = self.channel
        if channel.rows is None:
            raise ValueError("a session has a lane at an endpoint only")
        if not 0 <= first_byte <= 255 or not 0 <= tag <= LOW:
            raise ValueError("a first byte has 8 bits, a tag has 32")
        channel.rows.open(size)
        channel.has_lane = True
        channel.lane_first = first_byte
        channel.lane_size = size
        channel.lane_tag = <uint32_t>tag
        channel.lane_per_s = self.lane_per_s
        channel.lane_burst = channel.lane_tokens = max(self.lane_per_s, 1.0)
        channel.lane_since = NAN

    def clear_lane(self):
        self.channel.has_lane = False

    def mute(self, kinds):
        cdef bytes wanted = bytes(kinds)
        cdef Py_ssize_t at
        cdef uint8_t kind
        memset(self.channel.muted_kinds, 0, sizeof(self.channel.muted_kinds))
        for at in range(len(wanted)):
            kind = <uint8_t>PyBytes_AS_STRING(wanted)[at]
            self.channel.muted_kinds[kind >> 6] |= <uint64_t>1 << (kind & 63)
        self.channel.is_muting = len(wanted) > 0

    def tally(self):
        return self.channel.tally()

    def close(self, double now):
        self.touch()
        self.channel.close(now)

    def abort(self, reason=Reason.ABORTED):
        self.touch()
        self.channel.abort(reason)

    def vouch(self):
        if self.on_vouched is not None:
            self.on_vouched(self)

    def admit(self):
        if not self.is_admitted and self.channel.state_number != CLOSED:
            self.is_admitted = True
            self.channel.set_free()
            if self.on_admitted is not None:
                self.on_admitted(self)

    def on_datagram(self, address, bytes data not None, double now):
        cdef Channel channel = self.channel
        if not self.receive(<uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), NULL, 0, address, now):
            return None
        got, channel.got = channel.got, None
        return [] if got is None else got

    def poll(self, double now, budget_bytes=None):
        cdef list datagrams = []
        cdef Py_ssize_t size
        self.begin_poll(now, budget_bytes is not None, 0 if budget_bytes is None else budget_bytes)
        while True:
            size = self.next_datagram(packet_memory, now)
            if size < 0:
                break
            datagrams.append(PyBytes_FromStringAndSize(<char*>packet_memory, size))
        self.channel.finish_poll(now)
        return datagrams

    def next_timeout(self):
        cdef double at = self.timeout()
        return None if self.channel.state_number == CLOSED else at

    def _seal(self, int64_t number, bytes plain not None, bytes header not None):
        cdef bytes out = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(plain) + OVERHEAD)
        cdef uint8_t* p = <uint8_t*>PyBytes_AS_STRING(out)
        if PyBytes_GET_SIZE(header) != HEADER:
            raise ValueError("a header has 9 bytes")
        memcpy(p, PyBytes_AS_STRING(header), HEADER)
        self.seal(number, <uint8_t*>PyBytes_AS_STRING(plain), PyBytes_GET_SIZE(plain), p)
        return out[HEADER:]

    cdef double timeout(self) noexcept:
        cdef double at = self.channel.timeout()
        return min(at, self.challenge_at) if self.has_token else at

    # Receiving.

    cdef int receive(
        self, const uint8_t* data, Py_ssize_t size, const uint8_t* name, int name_size, object address, double now
    ) except -1:
        """A DATA packet with this id, from an address in one of its forms; False if it was dropped. What it delivers is
        in the channel's `got`."""
        cdef Channel channel = self.channel
        cdef int64_t newest = channel.newest, number
        cdef Py_ssize_t body_size
        if size < OVERHEAD:
            self.on_forgery()
            return False
        number = expand(read32(data + 5), newest + 1)
        if not channel.is_fresh(number):
            self.drops[D_REPLAYED] += 1
            return False
        body_size = self.open(number, data, size)
        if body_size < 0:
            self.on_forgery()
            return False
        if not self.is_from(name, name_size, address):
            if not self.movable:
                self.drops[D_ADDRESS] += 1
                return False
            if number > newest:
                self.move(read_name(name, name_size) if name_size else address, now)
        channel.read(number, opened.p, body_size, now)
        if self.has_token and self.is_from(name, name_size, address):
            self.on_unproved_path(size, now)
        return True

    cdef Py_ssize_t open(self, int64_t number, const uint8_t* data, Py_ssize_t size) except -2:
        """Opens a packet into `opened`; gives the size of its body, or -1 when it does not authenticate."""
        cdef uint8_t nonce[12]
        cdef unsigned long long body_size = 0
        cdef object body
        opened.start = opened.size = 0
        make_room(&opened, size)
        if self.has_keys:
            memset(nonce, 0, 4)
            write32(write32(nonce + 4, <uint32_t>(number & LOW)), <uint32_t>(number >> 32))
            if decryptors[self.suite](
                opened.p, &body_size, NULL, data + HEADER, size - HEADER, data, HEADER, nonce, self.receive_key
            ):
                return -1
            return <Py_ssize_t>body_size
        body = self.python_open(
            number,
            PyBytes_FromStringAndSize(<char*>data + HEADER, size - HEADER),
            PyBytes_FromStringAndSize(<char*>data, HEADER),
        )
        if body is None:
            return -1
        memcpy(opened.p, PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body))
        return PyBytes_GET_SIZE(body)

    cdef bint is_from(self, const uint8_t* name, int name_size, object address) except -1:
        """Whether this is the session's address."""
        if not name_size:
            return self.own_address == address
        if self.name_size < 0:
            self.name_size = write_name(self.own_address, self.name)
        if self.name_size:
            return self.name_size == name_size and memcmp(self.name, name, name_size) == 0
        return self.own_address == read_name(name, name_size)

    cdef int on_forgery(self) except -1:
        self.drops[D_FORGED] += 1
        self.forgeries += 1
        if self.forgeries >= limits.FORGERIES_MAX:
            self.abort(Reason.KEYS_WORN)
        return 0

    cdef int move(self, object address, double now) except -1:
        cdef bytes token
        self.address = address
        self.channel.reset_window()
        token = self.entropy(TOKEN)
        memcpy(self.token, PyBytes_AS_STRING(token), TOKEN)
        self.has_token = True
        self.challenge_at = now
        self.path_allowance = 0
        return 0

    cdef int on_unproved_path(self, Py_ssize_t size, double now) except -1:
        cdef Channel channel = self.channel
        self.path_allowance += size
        if channel.has_answered and memcmp(channel.answered_with, self.token, TOKEN) == 0:
            self.has_token = False
        elif self.challenge_at == INFINITY and self.path_allowance >= CHALLENGE_PACKET:
            self.challenge_at = now
        return 0

    # Sending.

    cdef int begin_poll(self, double now, bint has_budget, int64_t budget) except -1:
        cdef Channel channel = self.channel
        cdef int64_t allowance
        if channel.next_number >= self.packets_max - PACKETS_AT_END:
            channel.finish(R_KEYS_WORN, False)
        if self.has_token:
            allowance = self.path_allowance
            if now < self.challenge_at:
                allowance -= CHALLENGE_PACKET
            elif allowance >= CHALLENGE_PACKET:
                channel.has_challenge = True
                memcpy(channel.challenge, self.token, TOKEN)
                self.challenge_at = now + channel.probe_wait()
            else:
                self.challenge_at = INFINITY
                allowance = 0
            budget = min(allowance, budget) if has_budget else allowance
            has_budget = True
        return channel.begin_poll(now, has_budget, budget)

    cdef Py_ssize_t next_datagram(self, uint8_t* packet, double now) except -2:
        """Writes the next packet; gives its size, or -1 when there is none."""
        cdef Channel channel = self.channel
        cdef Py_ssize_t size = channel.next_packet(body_memory, now)
        cdef int64_t number = channel.next_number - 1
        if size < 0:
            return -1
        packet[0] = DATA
        write32(write32(packet + 1, self.peer_id), <uint32_t>(number & LOW))
        size = self.seal(number, body_memory, size, packet)
        if self.has_token:
            self.path_allowance -= size
        return size

    cdef Py_ssize_t seal(self, int64_t number, const uint8_t* body, Py_ssize_t size, uint8_t* packet) except -1:
        """Writes the sealed body behind the header; gives the size of the packet."""
        cdef uint8_t nonce[12]
        cdef unsigned long long sealed_size = 0
        cdef bytes sealed
        if self.has_keys:
            memset(nonce, 0, 4)
            write32(write32(nonce + 4, <uint32_t>(number & LOW)), <uint32_t>(number >> 32))
            encryptors[self.suite](
                packet + HEADER, &sealed_size, body, size, packet, HEADER, NULL, nonce, self.send_key
            )
            return HEADER + <Py_ssize_t>sealed_size
        sealed = self.python_seal(
            number, PyBytes_FromStringAndSize(<char*>body, size), PyBytes_FromStringAndSize(<char*>packet, HEADER)
        )
        memcpy(packet + HEADER, PyBytes_AS_STRING(sealed), PyBytes_GET_SIZE(sealed))
        return HEADER + PyBytes_GET_SIZE(sealed)


cdef class Table:
    def __cinit__(self):
        self.due = NULL

    def __init__(self, packet_bytes_max, retire):
        self.sessions = {}
        self.events = []
        self.rows = Rows()
        self.packet_bytes_max = packet_bytes_max
        self.retire = retire
        self.touched = []
        self.slots = []
        self.free_slots = []
        self.bound = INFINITY

    def __dealloc__(self):
        PyMem_Free(self.due)

    @property
    def next_at(self):
        return self.bound if self.due_count else None

    def add(self, Session session not None):
        self.sessions[session.id] = session
        session.channel.rows = self.rows
        session.table = self
        if self.free_slots:
            session.slot = self.free_slots.pop()
            self.slots[session.slot] = session
        else:
            session.slot = len(self.slots)
            self.grow_due(session.slot + 1)
            self.slots.append(session)
        self.due[session.slot] = INFINITY
        self.c_touch(session)

    def remove(self, Session session not None):
        if session.slot >= 0 and session.table is self:
            self.forget_due(session)
            self.slots[session.slot] = None
            self.free_slots.append(session.slot)
            session.slot = -1
        if self.sessions.get(session.id) is not session:
            return False
        del self.sessions[session.id]
        return True

    def touch(self, Session session not None):
        self.c_touch(session)

    def take_events(self):
        events, self.events = self.events, []
        return events

    def on_data(self, Session session not None, address, bytes data not None, double now):
        if session.receive(<uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), NULL, 0, address, now):
            self.after_data(session, now)

    def on_batch(self, Batch batch not None, int at, double now):
        cdef Entry* entry
        cdef const uint8_t* data
        cdef PyObject* found
        cdef Session session
        cdef object address
        cdef int number
        while at < batch.count - batch.first:
            number = batch.first + at
            entry = &batch.entries[number]
            data = batch.memory + entry.at
            if not PACKET_MIN <= entry.size <= self.packet_bytes_max or data[0] != DATA:
                break
            found = PyDict_GetItem(self.sessions, read32(data + 1))
            if found == NULL:
                break
            session = <Session>found
            address = None if entry.name_size else batch.address_of(number)
            if session.receive(data, entry.size, entry.name, entry.name_size, address, now):
                self.after_data(session, now)
            at += 1
        return at

    cdef int after_data(self, Session session, double now) except -1:
        cdef Channel channel = session.channel
        self.c_touch(session)
        if channel.got is not None:
            if channel.got:
                self.events.append(make_received(session, channel.got))
            channel.got = None
        if channel.state_number == CLOSED:
            self.retire(session, now)
        return 0

    def poll(self, double now, budget_bytes):
        cdef list out = []
        cdef Session session
        for session in self.take_touched(now):
            address = session.own_address
            for datagram in session.poll(now, budget_bytes):
                out.append((address, datagram))
            self.after_poll(session, now)
        return out

    def poll_batch(self, Batch batch not None, double now, budget_bytes):
        cdef Session session
        cdef Py_ssize_t size
        cdef Entry* entry
        cdef bint has_budget = budget_bytes is not None
        cdef int64_t budget = budget_bytes if has_budget else 0
        for session in self.take_touched(now):
            session.begin_poll(now, has_budget, budget)
            while True:
                size = session.next_datagram(batch.reserve(self.packet_bytes_max), now)
                if size < 0:
                    break
                if session.name_size < 0:
                    session.name_size = write_name(session.own_address, session.name)
                entry = batch.push(size)
                entry.name_size = session.name_size
                if session.name_size:
                    memcpy(entry.name, session.name, session.name_size)
                else:
                    batch.others[batch.count - 1] = session.own_address
            session.channel.finish_poll(now)
            self.after_poll(session, now)

    def send_rows(self, parcels, bint reliable):
        cdef Py_buffer view
        cdef const uint8_t* p
        cdef Py_ssize_t at = 0, size
        cdef PyObject* found
        cdef Session session
        cdef int refused = 0
        PyObject_GetBuffer(parcels, &view, PyBUF_SIMPLE)
        try:
            p = <uint8_t*>view.buf
            size = 0
            while at < view.len:
                if view.len - at < 6:
                    raise ValueError("a parcel that is cut short")
                size = max(size, <Py_ssize_t>read16(p + at + 4))
                at += 6 + read16(p + at + 4)
                if at > view.len:
                    raise ValueError("a parcel that is cut short")
            if not reliable and size > UNRELIABLE_MAX:
                raise ValueRejected(f"an unreliable message has at most {UNRELIABLE_MAX} bytes")
            at = 0
            while at < view.len:
                size = read16(p + at + 4)
                found = PyDict_GetItem(self.sessions, read32(p + at))
                at += 6
                if found == NULL:
                    refused += 1
                else:
                    session = <Session>found
                    self.c_touch(session)
                    refused += not session.channel.send_one(p + at, size, reliable)
                at += size
        finally:
            PyBuffer_Release(&view)
        return refused

    cdef int c_touch(self, Session session) except -1:
        if not session.is_touched:
            session.is_touched = True
            self.touched.append(session)
        return 0

    cdef int grow_due(self, int count) except -1:
        cdef int room
        cdef double* due
        if count > self.due_room:
            room = max(2 * self.due_room, count, 16)
            due = <double*>PyMem_Realloc(self.due, room * sizeof(double))
            if due == NULL:
                raise MemoryError
            self.due = due
            self.due_room = room
        return 0

    cdef int set_due(self, Session session, double due_at) except -1:
        if session.slot >= 0:
            self.due_count += self.due[session.slot] == INFINITY
            self.due[session.slot] = due_at
            if due_at < self.bound:
                self.bound = due_at
        return 0

    cdef int forget_due(self, Session session) except -1:
        self.due_count -= self.due[session.slot] != INFINITY
        self.due[session.slot] = INFINITY
        return 0

    cdef list take_touched(self, double now):
        """The sessions to poll: those that were touched, in that order, then those that are due, the earliest first."""
        cdef Py_ssize_t slot, count = len(self.slots)
        cdef double bound = INFINITY, due_at
        cdef list due = None, touched
        cdef Session session
        if now >= self.bound:
            for slot in range(count):
                due_at = self.due[slot]
                if due_at <= now:
                    if due is None:
                        due = []
                    session = self.slots[slot]
                    due.append((due_at, session.id, session))
                    self.due[slot] = INFINITY
                    self.due_count -= 1
                elif due_at < bound:
                    bound = due_at
            self.bound = bound
            if due is not None:
                due.sort()
                for _, _, session in due:
                    self.c_touch(session)
        touched, self.touched = self.touched, []
        for session in touched:
            session.is_touched = False
        return touched

    cdef int after_poll(self, Session session, double now) except -1:
        if session.channel.state_number == CLOSED:
            self.retire(session, now)
            return 0
        if session.channel.blocked:
            self.c_touch(session)
        return self.set_due(session, session.timeout())


# Views for tests and tools: the parts of the plain channel, by their names.


class Received_:
    """`acks.received`: which packets have come."""

    def __init__(self, Channel channel):
        self._channel = channel

    @property
    def newest(self):
        return (<Channel>self._channel).newest

    def fresh(self, int64_t number):
        return (<Channel>self._channel).is_fresh(number)

    def mark(self, int64_t number):
        (<Channel>self._channel).mark(number)

    def bits(self, int size):
        cdef Channel channel = self._channel
        cdef int64_t i, number
        out = bytearray(size)
        for i in range(8 * size):
            number = channel.newest - 1 - i
            if number >= 0 and i + 1 < REPLAY:
                if channel.ring[(number >> 6) & (RING_WORDS - 1)] >> (number & 63) & 1:
                    out[i >> 3] |= 1 << (i & 7)
        return bytes(out)


class Acks:
    def __init__(self, Channel channel):
        self._channel = channel
        self.received = Received_(channel)

    @property
    def waiting(self):
        return (<Channel>self._channel).ack_waiting

    @property
    def due_at(self):
        cdef double at = (<Channel>self._channel).ack_due_at
        return None if at == INFINITY else at


class Control:
    def __init__(self, Channel channel):
        self._channel = channel

    @property
    def ping(self):
        return (<Channel>self._channel).ping

    @ping.setter
    def ping(self, bint wanted):
        (<Channel>self._channel).ping = wanted

    @property
    def challenge(self):
        cdef Channel channel = self._channel
        return PyBytes_FromStringAndSize(<char*>channel.challenge, TOKEN) if channel.has_challenge else None

    @property
    def answer(self):
        cdef Channel channel = self._channel
        return PyBytes_FromStringAndSize(<char*>channel.answer, TOKEN) if channel.has_answer else None


class Recovery:
    def __init__(self, Channel channel):
        self._channel = channel

    @property
    def in_flight(self):
        """As plain tuples: number, when, spans, whether END was in it."""
        cdef Channel channel = self._channel
        cdef int i, k
        cdef Sent* sent
        flight = {}
        for i in range(channel.sent_first, channel.sent_stop):
            sent = &channel.sent[i]
            if not sent.gone:
                carried = []
                if sent.first.stop > sent.first.start:
                    carried.append((sent.first.start, sent.first.stop))
                for k in range(sent.more_count):
                    carried.append((sent.more[k].start, sent.more[k].stop))
                flight[sent.number] = (sent.number, sent.sent_at, carried, bool(sent.end))
        return flight

    @property
    def window(self):
        return (<Channel>self._channel).window

    @window.setter
    def window(self, double window):
        (<Channel>self._channel).window = window

    @property
    def has_room(self):
        return (<Channel>self._channel).flying < (<Channel>self._channel).window

    @property
    def probe_s(self):
        return (<Channel>self._channel).probe_wait()

    @property
    def loss_at(self):
        cdef double at = (<Channel>self._channel).loss_at
        return None if at == INFINITY else at

    @property
    def newest_acked(self):
        return (<Channel>self._channel).newest_acked

    @property
    def smoothed_s(self):
        return (<Channel>self._channel).smoothed_s

    @property
    def variance_s(self):
        return (<Channel>self._channel).variance_s

    @property
    def latest_s(self):
        return (<Channel>self._channel).latest_s

    @property
    def samples(self):
        return (<Channel>self._channel).samples

    @property
    def lost(self):
        return (<Channel>self._channel).lost_count


class Waiting:
    """How much waits to be sent."""

    def __init__(self, Channel channel, bint is_stream):
        self._channel = channel
        self._is_stream = is_stream

    def __len__(self):
        cdef Channel channel = self._channel
        return channel.stream.size if self._is_stream else channel.loose_count

    def __bytes__(self):
        cdef Bytes* row = &(<Channel>self._channel).stream
        return PyBytes_FromStringAndSize(<char*>row.p + row.start, row.size)


class Outbox:
    def __init__(self, Channel channel):
        self._channel = channel
        self.stream = Waiting(channel, True)
        self.unreliable = Waiting(channel, False)

    @property
    def base(self):
        return (<Channel>self._channel).base

    @property
    def sent(self):
        return (<Channel>self._channel).sent_offset

    @property
    def end(self):
        return (<Channel>self._channel).stream_end()

    @property
    def unreliable_bytes(self):
        return (<Channel>self._channel).loose_bytes

    @property
    def resent_bytes(self):
        return (<Channel>self._channel).resent_bytes

    @property
    def _resend(self):
        cdef Channel channel = self._channel
        return [(channel.resend[i].start, channel.resend[i].stop) for i in range(channel.resend_first, channel.resend_stop)]


class Assembly:
    def __init__(self, Channel channel):
        self._channel = channel

    @property
    def expected(self):
        return (<Channel>self._channel).expected

    @property
    def held_bytes(self):
        return (<Channel>self._channel).held_bytes

    @property
    def _held(self):
        return (<Channel>self._channel).held or []


class Stats:
    def __init__(self, Channel channel):
        self._channel = channel

    @property
    def packets_sent(self):
        return (<Channel>self._channel).packets_sent

    @property
    def packets_received(self):
        return (<Channel>self._channel).packets_received

    @property
    def bytes_sent(self):
        return (<Channel>self._channel).bytes_sent

    @property
    def bytes_received(self):
        return (<Channel>self._channel).bytes_received

    @property
    def probes(self):
        return (<Channel>self._channel).probes

    @property
    def unreliable_dropped(self):
        return (<Channel>self._channel).unreliable_dropped


class Form(NamedTuple):
    """The classes of one form."""

    session: type
    table: type


PLAIN = Form(PlainSession, PlainTable)
FORM = Form(Session, Table)
