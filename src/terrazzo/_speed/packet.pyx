"""The compiled form of packet.py, which documents it.

Every read is checked against the length before it is made: the bytes come from outside.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from collections import namedtuple

from terrazzo.errors import DecodeError

Ack = namedtuple("Ack", "newest delay received bits")
Body = namedtuple("Body", "eliciting ack chunks messages end close challenge answer")

cdef enum:
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
    # The ring holds twice the window, so that the words cleared ahead never hold a number that still counts.
    WINDOW = 1024
    RING_WORDS = 32

ACK, STREAM, MESSAGE, PING, END, CLOSE, CHALLENGE, ANSWER = (
    K_ACK, K_STREAM, K_MESSAGE, K_PING, K_END, K_CLOSE, K_CHALLENGE, K_ANSWER
)
ACK_HEAD_BYTES, ACK_BITS_BYTES_MAX, STREAM_HEAD_BYTES = ACK_HEAD, ACK_BITS_MAX, STREAM_HEAD
CHALLENGE_BYTES, NUMBER_WINDOW = TOKEN, WINDOW

cdef long long LOW = 0xFFFFFFFF
cdef long long HALF = 0x80000000


cdef inline uint32_t _read32(const uint8_t* p) noexcept:
    return p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16 | <uint32_t>p[3] << 24


cdef inline uint32_t _read24(const uint8_t* p) noexcept:
    return p[0] | <uint32_t>p[1] << 8 | <uint32_t>p[2] << 16


cdef inline uint32_t _read16(const uint8_t* p) noexcept:
    return p[0] | <uint32_t>p[1] << 8


cdef inline uint8_t* _write16(uint8_t* p, uint32_t value) noexcept:
    p[0] = value & 0xFF
    p[1] = value >> 8 & 0xFF
    return p + 2


cdef inline uint8_t* _write32(uint8_t* p, uint32_t value) noexcept:
    return _write16(_write16(p, value & 0xFFFF), value >> 16)


cdef inline Py_ssize_t _packed_size(Py_ssize_t size) noexcept:
    return 1 if size < 255 else 4


cdef inline uint8_t* _write_packed(uint8_t* p, Py_ssize_t size) noexcept:
    if size < 255:
        p[0] = <uint8_t>size
        return p + 1
    p[0] = 255
    p[1] = size & 0xFF
    p[2] = size >> 8 & 0xFF
    p[3] = size >> 16 & 0xFF
    return p + 4


cdef inline uint8_t* _write_message(uint8_t* p, bytes message) noexcept:
    cdef Py_ssize_t size = PyBytes_GET_SIZE(message)
    p = _write_packed(p, size)
    memcpy(p, PyBytes_AS_STRING(message), size)
    return p + size


def expand(long long low, long long near):
    cdef long long value = (near & ~LOW) | low
    if value > near + HALF and value > LOW:
        return value - LOW - 1
    if value + HALF < near:
        return value + LOW + 1
    return value


def append_messages(bytearray stream not None, messages, Py_ssize_t limit):
    cdef Py_ssize_t total = 0, size, before = PyByteArray_GET_SIZE(stream)
    cdef bytes message
    cdef uint8_t* p
    for message in messages:
        size = len(message)
        if size > limit:
            raise ValueError(f"a message of {size} bytes is over the limit of {limit}")
        total += size + _packed_size(size)
    PyByteArray_Resize(stream, before + total)
    p = <uint8_t*>PyByteArray_AS_STRING(stream) + before
    for message in messages:
        p = _write_message(p, message)


def take_messages(bytearray stream not None, Py_ssize_t limit):
    cdef list messages = []
    cdef Py_ssize_t at = 0, end = PyByteArray_GET_SIZE(stream), head, size
    cdef const uint8_t* p = <const uint8_t*>PyByteArray_AS_STRING(stream)
    while at < end:
        head = 1
        size = p[at]
        if size == 255:
            head = 4
            if end - at < head:
                break
            size = _read24(p + at + 1)
            if size < 255:
                raise DecodeError("a packed length is longer than it need be", at)
        if size > limit:
            raise DecodeError(f"a message of {size} bytes is over the limit of {limit}", at)
        if end - at < head + size:
            break
        at += head
        messages.append(PyBytes_FromStringAndSize(<const char*>p + at, size))
        at += size
    del stream[:at]
    return messages


def fit_messages(queue not None, Py_ssize_t room, Py_ssize_t share):
    cdef list fitting = []
    cdef Py_ssize_t used = 0, size
    while queue:
        size = len(<bytes?>queue[0])
        used += size + 1 + _packed_size(size)
        if used > room or (fitting and used > share):
            break
        fitting.append(queue.popleft())
    return fitting


def encode_body(ack, bytes control not None, bytearray stream not None, long long base, spans, messages):
    cdef Py_ssize_t total = PyBytes_GET_SIZE(control), held = PyByteArray_GET_SIZE(stream), size
    cdef long long start, stop
    cdef bytes bits = None, message, out
    cdef uint8_t* p
    if ack is not None:
        bits = <bytes?>ack[3]
        total += ACK_HEAD + PyBytes_GET_SIZE(bits)
    for start, stop in spans:
        if not (base <= start < stop <= base + held and stop - start <= 0xFFFF):
            raise ValueError("a span that the stream does not hold")
        total += STREAM_HEAD + stop - start
    for message in messages:
        size = len(message)
        total += 1 + _packed_size(size) + size
    out = PyBytes_FromStringAndSize(NULL, total)
    p = <uint8_t*>PyBytes_AS_STRING(out)
    if bits is not None:
        p[0] = K_ACK
        p = _write32(p + 1, <uint32_t>(<long long>ack[0] & LOW))
        p = _write16(p, <uint32_t>ack[1])
        p = _write32(p, <uint32_t>(<long long>ack[2] & LOW))
        p[0] = <uint8_t>PyBytes_GET_SIZE(bits)
        memcpy(p + 1, PyBytes_AS_STRING(bits), PyBytes_GET_SIZE(bits))
        p += 1 + PyBytes_GET_SIZE(bits)
    memcpy(p, PyBytes_AS_STRING(control), PyBytes_GET_SIZE(control))
    p += PyBytes_GET_SIZE(control)
    for start, stop in spans:
        p[0] = K_STREAM
        p = _write32(p + 1, <uint32_t>(start & LOW))
        p = _write16(p, <uint32_t>(stop - start))
        memcpy(p, PyByteArray_AS_STRING(stream) + (start - base), stop - start)
        p += stop - start
    for message in messages:
        p[0] = K_MESSAGE
        p = _write_message(p + 1, message)
    return out


cdef _cut(Py_ssize_t at):
    raise DecodeError("a frame that is cut short or has a length it may not have", at)


def decode_body(bytes body not None):
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(body)
    cdef const char* raw = PyBytes_AS_STRING(body)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(body), at = 0, size, start
    cdef list chunks = [], messages = []
    cdef object ack = None, challenge = None, answer = None
    cdef long long end = -1, close = -1
    cdef bint eliciting = False
    cdef int kind
    if length == 0:
        raise DecodeError("an empty body", 0)
    while at < length:
        kind = p[at]
        if kind != K_ACK and kind != K_CLOSE and kind != K_ANSWER:
            eliciting = True
        if kind == K_STREAM:
            start = at + STREAM_HEAD
            if start >= length:
                _cut(at)
            size = _read16(p + at + 5)
            if size == 0 or size > length - start:
                _cut(at)
            chunks.append((_read32(p + at + 1), PyBytes_FromStringAndSize(raw + start, size)))
            at = start + size
        elif kind == K_MESSAGE:
            start = at + 2
            if start > length:
                _cut(at)
            size = p[at + 1]
            if size == 255:
                start = at + 5
                if start > length:
                    _cut(at)
                size = _read24(p + at + 2)
                if size < 255:
                    _cut(at)
            if size > length - start:
                _cut(at)
            messages.append(PyBytes_FromStringAndSize(raw + start, size))
            at = start + size
        elif kind == K_ACK and ack is None:
            start = at + ACK_HEAD
            if start > length:
                _cut(at)
            size = p[at + 11]
            if size > ACK_BITS_MAX or size > length - start:
                _cut(at)
            ack = Ack(
                _read32(p + at + 1),
                _read16(p + at + 5),
                _read32(p + at + 7),
                PyBytes_FromStringAndSize(raw + start, size),
            )
            at = start + size
        elif kind == K_PING:
            at += 1
        elif kind == K_END and end < 0:
            if length - at < 5:
                _cut(at)
            end = _read32(p + at + 1)
            at += 5
        elif kind == K_CLOSE and close < 0:
            if length - at < 2:
                _cut(at)
            close = p[at + 1]
            at += 2
        elif kind == K_CHALLENGE and challenge is None:
            if length - at < 1 + TOKEN:
                _cut(at)
            challenge = PyBytes_FromStringAndSize(raw + at + 1, TOKEN)
            at += 1 + TOKEN
        elif kind == K_ANSWER and answer is None:
            if length - at < 1 + TOKEN:
                _cut(at)
            answer = PyBytes_FromStringAndSize(raw + at + 1, TOKEN)
            at += 1 + TOKEN
        else:
            raise DecodeError("a frame that is unknown or may not come twice", at)
    return Body(eliciting, ack, chunks, messages, end, close, challenge, answer)


def take_acked(dict in_flight not None, long long newest, bytes bits not None):
    cdef list acked = []
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(bits)
    cdef Py_ssize_t i, count = 8 * PyBytes_GET_SIZE(bits)
    cdef object sent = in_flight.pop(newest, None)
    if sent is not None:
        acked.append(sent)
    for i in range(count):
        if not in_flight:
            break
        if p[i >> 3] >> (i & 7) & 1:
            sent = in_flight.pop(newest - 1 - i, None)
            if sent is not None:
                acked.append(sent)
    return acked


cdef class Window:
    cdef readonly long long newest
    cdef uint64_t ring[RING_WORDS]

    def __cinit__(self):
        self.newest = -1
        memset(self.ring, 0, sizeof(self.ring))

    cdef inline bint _seen(self, long long number) noexcept:
        return self.ring[(number >> 6) & (RING_WORDS - 1)] >> (number & 63) & 1

    def fresh(self, long long number):
        if number > self.newest:
            return True
        return number >= 0 and self.newest - number < WINDOW and not self._seen(number)

    def mark(self, long long number):
        cdef long long word, last
        if number > self.newest:
            word = (self.newest >> 6) + 1 if self.newest >= 0 else 0
            last = number >> 6
            if last - word >= RING_WORDS:
                word = last - RING_WORDS + 1
            while word <= last:
                self.ring[word & (RING_WORDS - 1)] = 0
                word += 1
            self.newest = number
        elif number < 0 or self.newest - number >= WINDOW:
            return
        self.ring[(number >> 6) & (RING_WORDS - 1)] |= <uint64_t>1 << (number & 63)

    def bits(self, Py_ssize_t size):
        if size < 0:
            raise ValueError("negative shift count")
        cdef bytes out = PyBytes_FromStringAndSize(NULL, size)
        cdef uint8_t* p = <uint8_t*>PyBytes_AS_STRING(out)
        cdef Py_ssize_t i
        cdef long long number
        memset(p, 0, size)
        for i in range(8 * size):
            number = self.newest - 1 - i
            if number >= 0 and i + 1 < WINDOW and self._seen(number):
                p[i >> 3] |= 1 << (i & 7)
        return out
