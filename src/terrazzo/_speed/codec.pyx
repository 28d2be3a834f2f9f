"""Codecs, the compiled form: the same classes, checks, errors and bytes as the plain form in `codec.py`.

Encoding writes into a buffer on the C stack (`Out`) that moves to the heap when it is too small; decoding walks a pair
of pointers (`In`). Both are passed down by pointer, so a whole entity is one crossing of the Python boundary. Writing
does not keep track of where it is: when a value turns out to be wrong, `check` is run over it to find where.
"""

import operator
from collections.abc import Sequence

from terrazzo._speed.values import refuse_second_owner
from terrazzo.errors import DecodeError, UsageError, ValueRejected, shown

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact, PyFloat_FromDouble
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_CheckExact, PyLong_FromLongLong
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.math cimport isinf
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from terrazzo._speed.values cimport RecordValue, TrackedList, freeze

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object number) except? 0xFFFFFFFFFFFFFFFF
    PyObject* PyLong_FromLong(long number) except NULL
    PyObject* PyLong_FromUnsignedLong(unsigned long number) except NULL
    PyObject* new_float "PyFloat_FromDouble"(double number) except NULL
    void set_tuple_item "PyTuple_SET_ITEM"(tuple target, Py_ssize_t index, PyObject* item)
    void set_list_item "PyList_SET_ITEM"(list target, Py_ssize_t index, PyObject* item)
    object PyLong_FromUnsignedLongLong(unsigned long long number)
    double PyFloat_AsDouble(object number) except? -1.0
    int PyUnicode_Check(object value)
    ctypedef struct PyTypeObject:
        object (*tp_alloc)(PyTypeObject* cls, Py_ssize_t count)
        object (*tp_new)(PyTypeObject* cls, object args, PyObject* keywords)
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 largest)
    void* PyUnicode_DATA(object text)

DEF LONGEST = 0xFFFFFF
LENGTH_MAX = LONGEST
DEF ON_STACK = 512



cdef struct Out:
    char* data
    Py_ssize_t size
    Py_ssize_t room
    bint on_heap


cdef struct In:
    const uint8_t* start
    const uint8_t* at
    const uint8_t* end


def rejected(str expected, value):
    """The error for a value that is not what was expected."""
    return ValueRejected(f"expected {expected}, got {shown(value)} ({type(value).__name__})")


cdef object too_short(In* source, Py_ssize_t wanted, str name):
    return DecodeError(f"{name} needs {wanted} more bytes, {source.end - source.at} are left", source.at - source.start)


cdef inline void begin(Out* out, char* stack) noexcept:
    out.data = stack
    out.size = 0
    out.room = ON_STACK
    out.on_heap = False


cdef int grow(Out* out, Py_ssize_t more) except -1:
    cdef Py_ssize_t room = out.room * 2
    cdef char* data
    while room - out.size < more:
        room *= 2
    if out.on_heap:
        data = <char*>PyMem_Realloc(out.data, room)
    else:
        data = <char*>PyMem_Malloc(room)
    if data == NULL:
        raise MemoryError
    if not out.on_heap:
        memcpy(data, out.data, out.size)
    out.data = data
    out.room = room
    out.on_heap = True
    return 0


cdef inline int put(Out* out, const void* data, Py_ssize_t size) except -1:
    if out.room - out.size < size:
        grow(out, size)
    memcpy(out.data + out.size, data, size)
    out.size += size
    return 0


cdef inline int put_small(Out* out, uint64_t bits, Py_ssize_t size) except -1:
    """Append the low `size` bytes of a number: eight are written, a constant number, then some kept."""
    if out.room - out.size < 8:
        grow(out, 8)
    memcpy(out.data + out.size, &bits, 8)
    out.size += size
    return 0


cdef inline int put_byte(Out* out, uint8_t byte) except -1:
    if out.room == out.size:
        grow(out, 1)
    out.data[out.size] = <char>byte
    out.size += 1
    return 0


cdef inline int put_length(Out* out, Py_ssize_t length) except -1:
    cdef uint32_t packed
    if length < 255:
        return put_byte(out, <uint8_t>length)
    packed = (<uint32_t>length << 8) | 0xFF
    return put(out, &packed, 4)


cdef inline bytes finished(Out* out):
    return PyBytes_FromStringAndSize(out.data, out.size)


cdef inline Py_ssize_t get_length(In* source, str name) except -1:
    cdef Py_ssize_t left = source.end - source.at
    cdef Py_ssize_t length
    if left < 1:
        raise too_short(source, 1, name)
    length = source.at[0]
    if length < 255:
        source.at += 1
        return length
    if left < 4:
        raise too_short(source, 4, name)
    length = source.at[1] | (<Py_ssize_t>source.at[2] << 8) | (<Py_ssize_t>source.at[3] << 16)
    source.at += 4
    return length


cdef enum Form:
    # The forms of values that are read and written in line, without a call through the table of methods.
    OTHER
    INT_8
    UINT_8
    INT_16
    UINT_16
    INT_32
    UINT_32
    INT_64
    BOOLEAN
    SINGLE


cdef class Codec:
    """What all codecs have."""

    cdef readonly str name
    cdef readonly Py_ssize_t fixed
    cdef readonly Py_ssize_t least
    cdef readonly bint holds
    cdef Form form

    cpdef object check(self, object value):
        """The canonical form of an acceptable value, or ValueRejected."""
        raise NotImplementedError

    cpdef object default(self):
        """A new default value."""
        raise NotImplementedError

    cpdef object copy(self, object value):
        """A free copy of a value; what cannot change is its own copy."""
        return value

    cdef int put_value(self, Out* out, object value) except -1:
        raise NotImplementedError

    cdef object get_value(self, In* source):
        raise NotImplementedError

    cpdef bytes encode(self, object value):
        """The encoding of a value."""
        cdef char stack[ON_STACK]
        cdef Out out
        begin(&out, stack)
        try:
            self.put_value(&out, value)
            return finished(&out)
        except (ValueRejected, UnicodeEncodeError, OverflowError):
            self.check(value)
            raise
        finally:
            if out.on_heap:
                PyMem_Free(out.data)

    cpdef object decode(self, data):
        """The value that these bytes, all of them, encode."""
        cdef bytes held = data if type(data) is bytes else bytes(data)
        cdef In source
        source.start = source.at = <const uint8_t*>PyBytes_AS_STRING(held)
        source.end = source.start + PyBytes_GET_SIZE(held)
        value = self.get_value(&source)
        if source.at != source.end:
            raise DecodeError(f"{source.end - source.at} bytes too many after {self.name}", source.at - source.start)
        return value

    def decode_from(self, data, Py_ssize_t pos):
        """The value at `pos` of the bytes and the position behind it."""
        cdef bytes held = data if type(data) is bytes else bytes(data)
        cdef In source
        if not 0 <= pos <= PyBytes_GET_SIZE(held):
            raise DecodeError("position outside the data", pos)
        source.start = <const uint8_t*>PyBytes_AS_STRING(held)
        source.at = source.start + pos
        source.end = source.start + PyBytes_GET_SIZE(held)
        value = self.get_value(&source)
        return value, source.at - source.start

    def __repr__(self):
        return f"<{type(self).__name__} {self.name}>"


@cython.final
cdef class IntCodec(Codec):
    """INT8 … UINT64."""

    cdef readonly bint signed
    cdef readonly object low
    cdef readonly object high
    cdef int64_t least_value
    cdef uint64_t most_value
    cdef int64_t most_small

    def __init__(self, str name, int bits, bint signed):
        self.name = name
        self.fixed = self.least = bits // 8
        self.holds = False
        self.signed = signed
        range_size = pow(2, <object>bits)
        self.low = -(range_size // 2) if signed else 0
        self.high = self.low + range_size - 1
        self.least_value = self.low
        self.most_value = self.high
        forms = {8: (UINT_8, INT_8), 16: (UINT_16, INT_16), 32: (UINT_32, INT_32), 64: (OTHER, INT_64)}
        self.form = forms[bits][signed]
        self.most_small = 0 if self.form == OTHER else self.high

    cdef inline int number(self, object value, uint64_t* found) except -1:
        """The value as the 64 bits of its two's complement."""
        cdef int64_t small
        cdef int overflow = 0
        if PyLong_CheckExact(value):
            small = PyLong_AsLongLongAndOverflow(value, &overflow)
            if overflow:
                return self.large_number(value, found)
            if small < self.least_value or (small > 0 and <uint64_t>small > self.most_value):
                raise self.refusal(value)
            found[0] = <uint64_t>small
            return 0
        try:
            plain = int(operator.index(value))
        except TypeError:
            raise self.refusal(value) from None
        return self.number(plain, found)

    cdef int large_number(self, object value, uint64_t* found) except -1:
        if not self.low <= value <= self.high:
            raise self.refusal(value)
        found[0] = value
        return 0

    cdef object refusal(self, value):
        return rejected(f"{self.name} ({self.low} … {self.high})", value)

    cpdef object check(self, object value):
        cdef uint64_t number
        self.number(value, &number)
        if PyLong_CheckExact(value):
            return value
        return int(operator.index(value))

    cpdef object default(self):
        return 0

    cdef int put_value(self, Out* out, object value) except -1:
        cdef uint64_t number
        self.number(value, &number)
        return put_small(out, number, self.fixed)

    cdef object get_value(self, In* source):
        cdef const uint8_t* at = source.at
        cdef Py_ssize_t size = self.fixed
        cdef uint16_t two
        cdef uint32_t four
        cdef uint64_t eight
        if source.end - at < size:
            raise too_short(source, size, self.name)
        source.at += size
        if size == 1:
            return <int8_t>at[0] if self.signed else at[0]
        if size == 2:
            memcpy(&two, at, 2)
            return <int16_t>two if self.signed else two
        if size == 4:
            memcpy(&four, at, 4)
            return PyLong_FromLongLong(<int32_t>four if self.signed else <int64_t>four)
        memcpy(&eight, at, 8)
        if self.signed:
            return PyLong_FromLongLong(<int64_t>eight)
        return PyLong_FromUnsignedLongLong(eight)


cdef inline int put_any(Out* out, Codec codec, object value) except -1:
    """`codec.put_value`, with the commonest case written out here. An int out of all range raises OverflowError."""
    cdef int64_t small
    if INT_8 <= codec.form <= INT_64 and PyLong_CheckExact(value):
        small = value
        if small < (<IntCodec>codec).least_value or small > (<IntCodec>codec).most_small:
            raise (<IntCodec>codec).refusal(value)
        return put_small(out, <uint64_t>small, codec.fixed)
    if codec.form == BOOLEAN and (value is True or value is False):
        return put_byte(out, value is True)
    return codec.put_value(out, value)


cdef inline PyObject* new_reference(object value) noexcept:
    Py_INCREF(value)
    return <PyObject*>value


cdef inline PyObject* get_any(In* source, Codec codec) except NULL:
    """`codec.get_value` as a new reference, with the commonest cases written out here."""
    cdef const uint8_t* at = source.at
    cdef Form form = codec.form
    cdef uint16_t two
    cdef uint32_t four
    cdef float single
    if form == OTHER or source.end - at < codec.fixed:
        return new_reference(codec.get_value(source))
    source.at += codec.fixed
    if form == UINT_8:
        return PyLong_FromLong(at[0])
    if form == UINT_16:
        memcpy(&two, at, 2)
        return PyLong_FromLong(two)
    if form == UINT_32:
        memcpy(&four, at, 4)
        return PyLong_FromUnsignedLong(four)
    if form == INT_32:
        memcpy(&four, at, 4)
        return PyLong_FromLong(<int32_t>four)
    if form == INT_16:
        memcpy(&two, at, 2)
        return PyLong_FromLong(<int16_t>two)
    if form == SINGLE:
        memcpy(&single, at, 4)
        return new_float(single)
    if form == INT_8:
        return PyLong_FromLong(<int8_t>at[0])
    if form == BOOLEAN and at[0] <= 1:
        return new_reference(at[0] == 1)
    source.at = at
    return new_reference(codec.get_value(source))


@cython.final
cdef class BoolCodec(Codec):
    """BOOL."""

    def __init__(self, str name):
        self.name = name
        self.fixed = self.least = 1
        self.holds = False
        self.form = BOOLEAN

    cpdef object check(self, object value):
        if value is True or value is False:
            return value
        if type(value) is int and (value == 0 or value == 1):
            return value == 1
        raise rejected(f"{self.name} (True or False)", value)

    cpdef object default(self):
        return False

    cdef int put_value(self, Out* out, object value) except -1:
        return put_byte(out, self.check(value) is True)

    cdef object get_value(self, In* source):
        if source.at >= source.end:
            raise too_short(source, 1, self.name)
        if source.at[0] > 1:
            raise DecodeError(f"{self.name} is 0 or 1, not {source.at[0]}", source.at - source.start)
        source.at += 1
        return (source.at - 1)[0] == 1


cdef double as_double(object value, str name) except? -1.0:
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    if not isinstance(value, (str, bytes, bytearray)):
        try:
            return PyFloat_AsDouble(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise rejected(f"{name} (a number)", value)


cdef float as_single(object value, str name) except? -1.0:
    cdef double number = as_double(value, name)
    cdef float single = <float>number
    if isinf(single) and not isinf(number):
        raise rejected(f"{name} (at most 3.4e38)", value)
    return single


def to_single(value, str name):
    """A number rounded to single precision, as every receiver will have it."""
    return as_single(value, name)


def to_double(value, str name):
    """A number as a float; text is not a number."""
    return as_double(value, name)


@cython.final
cdef class FloatCodec(Codec):
    """FLOAT32 and FLOAT64."""

    def __init__(self, str name, int bits):
        self.name = name
        self.fixed = self.least = bits // 8
        self.holds = False
        self.form = SINGLE if bits == 32 else OTHER

    cpdef object check(self, object value):
        if self.fixed == 4:
            return PyFloat_FromDouble(as_single(value, self.name))
        if PyFloat_CheckExact(value):
            return value
        return PyFloat_FromDouble(as_double(value, self.name))

    cpdef object default(self):
        return 0.0

    cdef int put_value(self, Out* out, object value) except -1:
        cdef float single
        cdef double number
        cdef uint64_t bits = 0
        if self.fixed == 4:
            single = as_single(value, self.name)
            memcpy(&bits, &single, 4)
            return put_small(out, bits, 4)
        number = as_double(value, self.name)
        memcpy(&bits, &number, 8)
        return put_small(out, bits, 8)

    cdef object get_value(self, In* source):
        cdef float single
        cdef double number
        if source.end - source.at < self.fixed:
            raise too_short(source, self.fixed, self.name)
        if self.fixed == 4:
            memcpy(&single, source.at, 4)
            source.at += 4
            return PyFloat_FromDouble(single)
        memcpy(&number, source.at, 8)
        source.at += 8
        return PyFloat_FromDouble(number)


@cython.final
cdef class VectorCodec(Codec):
    """VECTOR2, VECTOR3, VECTOR4; `cls` is the tuple class of the values."""

    cdef readonly object cls
    cdef readonly Py_ssize_t dimensions

    def __init__(self, str name, Py_ssize_t dimensions, cls):
        self.name = name
        self.fixed = self.least = 4 * dimensions
        self.holds = False
        self.dimensions = dimensions
        self.cls = cls

    cdef int parts(self, object value, float* found) except -1:
        cdef Py_ssize_t index = 0
        if isinstance(value, (str, bytes, bytearray)) or not (
            isinstance(value, (tuple, list)) or isinstance(value, Sequence)
        ):
            raise rejected(f"{self.name} ({self.dimensions} numbers)", value)
        if len(value) != self.dimensions:
            raise rejected(f"{self.name} ({self.dimensions} numbers)", value)
        for part in value:
            if index == self.dimensions:
                break
            found[index] = as_single(part, self.name)
            index += 1
        if index != self.dimensions:
            raise rejected(f"{self.name} ({self.dimensions} numbers)", value)
        return 0

    cdef object build(self, const float* parts):
        # What tuple.__new__ of a subclass does, without the detour over a plain tuple.
        cdef PyTypeObject* cls = <PyTypeObject*>self.cls
        cdef tuple vector = <tuple>cls.tp_alloc(cls, self.dimensions)
        cdef Py_ssize_t index
        for index in range(self.dimensions):
            number = PyFloat_FromDouble(parts[index])
            Py_INCREF(number)
            PyTuple_SET_ITEM(vector, index, number)
        return vector

    cpdef object check(self, object value):
        cdef float parts[4]
        self.parts(value, parts)
        return self.build(parts)

    cpdef object default(self):
        cdef float parts[4]
        parts[0] = parts[1] = parts[2] = parts[3] = 0.0
        return self.build(parts)

    cdef int put_value(self, Out* out, object value) except -1:
        cdef float parts[4]
        self.parts(value, parts)
        return put(out, parts, self.fixed)

    cdef object get_value(self, In* source):
        cdef float parts[4]
        if source.end - source.at < self.fixed:
            raise too_short(source, self.fixed, self.name)
        memcpy(parts, source.at, self.fixed)
        source.at += self.fixed
        return self.build(parts)


@cython.final
cdef class BytesCodec(Codec):
    """STRING and BLOB; at most `longest` bytes may be assigned."""

    cdef readonly Py_ssize_t longest

    def __init__(self, str name, Py_ssize_t longest=LONGEST):
        self.name = name
        self.fixed = -1
        self.least = 1
        self.holds = False
        self.longest = longest

    cpdef object check(self, object value):
        return self.plain(value, self.longest)

    cdef bytes plain(self, object value, Py_ssize_t longest):
        if type(value) is not bytes:
            if not isinstance(value, (bytes, bytearray, memoryview)):
                hint = " (for text declare UNICODE_STRING)" if isinstance(value, str) else ""
                raise rejected(f"{self.name}, which is bytes{hint}", value)
            value = bytes(value)
        if PyBytes_GET_SIZE(value) > longest:
            raise ValueRejected(f"expected {self.name} of at most {longest} bytes, got {len(value)} bytes")
        return value

    cpdef object default(self):
        return b""

    cdef int put_value(self, Out* out, object value) except -1:
        cdef bytes data = self.plain(value, LONGEST)
        put_length(out, PyBytes_GET_SIZE(data))
        return put(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    cdef object get_value(self, In* source):
        cdef Py_ssize_t length = get_length(source, self.name)
        if length > source.end - source.at:
            raise too_short(source, length, self.name)
        source.at += length
        return PyBytes_FromStringAndSize(<const char*>source.at - length, length)


cdef inline bint is_ascii(const uint8_t* at, Py_ssize_t length) noexcept:
    """True for text of one byte a character; not for the empty one, of which there should be only one object."""
    cdef uint64_t eight
    cdef uint8_t seen = 0
    if length == 0:
        return False
    while length >= 8:
        memcpy(&eight, at, 8)
        if eight & 0x8080808080808080:
            return False
        at += 8
        length -= 8
    while length > 0:
        length -= 1
        seen |= at[length]
    return seen < 0x80


@cython.final
cdef class TextCodec(Codec):
    """UNICODE_STRING; at most `longest` characters may be assigned."""

    cdef readonly Py_ssize_t longest

    def __init__(self, str name, Py_ssize_t longest=LONGEST):
        self.name = name
        self.fixed = -1
        self.least = 1
        self.holds = False
        self.longest = longest

    cpdef object check(self, object value):
        cdef Py_ssize_t size
        if not PyUnicode_Check(value):
            raise rejected(f"{self.name}, which is text (str)", value)
        try:
            PyUnicode_AsUTF8AndSize(value, &size)
        except UnicodeEncodeError:
            raise rejected(f"{self.name} without lone surrogates", value) from None
        if size > LONGEST:
            raise ValueRejected(f"expected {self.name} of at most {LONGEST} bytes, got {size} bytes")
        if len(value) > self.longest:
            raise ValueRejected(f"expected {self.name} of at most {self.longest} characters, got {len(value)}")
        return value if type(value) is str else str.__str__(value)

    cpdef object default(self):
        return ""

    cdef int put_value(self, Out* out, object value) except -1:
        cdef Py_ssize_t size
        cdef const char* data
        if not PyUnicode_Check(value):
            raise rejected(f"{self.name}, which is text (str)", value)
        data = PyUnicode_AsUTF8AndSize(value, &size)
        if size > LONGEST:
            raise ValueRejected(f"expected {self.name} of at most {LONGEST} bytes, got {size} bytes")
        put_length(out, size)
        return put(out, data, size)

    cdef object get_value(self, In* source):
        cdef Py_ssize_t length = get_length(source, self.name)
        if length > source.end - source.at:
            raise too_short(source, length, self.name)
        if is_ascii(source.at, length):
            value = PyUnicode_New(length, 127)
            memcpy(PyUnicode_DATA(value), source.at, length)
            source.at += length
            return value
        try:
            value = PyUnicode_DecodeUTF8(<const char*>source.at, length, NULL)
        except UnicodeDecodeError as problem:
            raise DecodeError(f"{self.name} is not UTF-8", source.at - source.start + problem.start) from None
        source.at += length
        return value


@cython.final
cdef class HookCodec(Codec):
    """Bytes given to functions: a fixed number of them, or with a packed length (`fixed` is -1)."""

    cdef readonly object checker
    cdef readonly object to_bytes
    cdef readonly object from_bytes
    cdef readonly object maker

    def __init__(self, str name, Py_ssize_t fixed, checker, to_bytes, from_bytes, maker, bint holds):
        self.name = name
        self.fixed = fixed
        self.least = 1 if fixed < 0 else fixed
        self.holds = holds
        self.checker = checker
        self.to_bytes = to_bytes
        self.from_bytes = from_bytes
        self.maker = maker

    cdef bytes encoded(self, object value):
        data = self.to_bytes(value)
        if not isinstance(data, bytes):
            raise UsageError(f"the stream of {self.name} must be bytes, got {type(data).__name__}")
        if (len(data) > LONGEST) if self.fixed < 0 else (len(data) != self.fixed):
            limit = f"at most {LONGEST}" if self.fixed < 0 else f"{self.fixed}"
            raise ValueRejected(f"expected {self.name} of {limit} bytes, got {len(data)} bytes")
        return bytes(data)

    cpdef object check(self, object value):
        value = self.checker(value)
        self.encoded(value)
        return value

    cpdef object default(self):
        return self.maker()

    cpdef object copy(self, object value):
        return value.copy() if self.holds else value

    cdef int put_value(self, Out* out, object value) except -1:
        cdef bytes data = self.encoded(self.checker(value))
        if self.fixed < 0:
            put_length(out, PyBytes_GET_SIZE(data))
        return put(out, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    cdef object get_value(self, In* source):
        cdef Py_ssize_t length = self.fixed
        cdef Py_ssize_t pos
        if length < 0:
            length = get_length(source, self.name)
        if length > source.end - source.at:
            raise too_short(source, length, self.name)
        pos = source.at - source.start
        data = PyBytes_FromStringAndSize(<const char*>source.at, length)
        source.at += length
        try:
            return self.from_bytes(data)
        except DecodeError as problem:
            raise DecodeError(f"{self.name}: {problem}", pos) from None
        except Exception as problem:
            raise DecodeError(f"{self.name} was refused: {type(problem).__name__}: {problem}", pos) from None


cdef inline TrackedList free_list(object codec, list items):
    """A free list of these elements."""
    cdef TrackedList array = TrackedList.__new__(TrackedList)
    array._codec = codec
    list.extend(array, items)
    return array


@cython.final
cdef class SequenceCodec(Codec):
    """ARRAY (a TrackedList) and TUPLE (a tuple).

    `size` is the fixed number of elements, or -1; `preset` the plain default of an element, or None.
    """

    cdef readonly Codec element
    cdef readonly Py_ssize_t size
    cdef readonly bint is_tuple
    cdef readonly object preset

    def __init__(self, str name, Codec element, Py_ssize_t size, bint is_tuple, preset=None):
        self.name = name
        self.fixed = size * element.fixed if size >= 0 and element.fixed >= 0 else -1
        self.least = 1 if size < 0 else size * element.least
        self.holds = not is_tuple
        if size < 0 and element.least == 0:
            raise UsageError(f"{name}: an element that can take no bytes at all needs an array of fixed size")
        self.element = element
        self.size = size
        self.is_tuple = is_tuple
        self.preset = preset

    cpdef check_count(self, Py_ssize_t count):
        """Refuse a number of elements that the type or the stream does not allow."""
        if count > LONGEST if self.size < 0 else count != self.size:
            limit = f"at most {LONGEST}" if self.size < 0 else f"{self.size}"
            raise ValueRejected(f"expected {self.name} of {limit} elements, got {count}")

    cpdef object check(self, object value):
        cdef list checked
        cdef Py_ssize_t index = 0
        if type(value) is TrackedList:
            if (<TrackedList>value)._codec is self or self.is_like((<TrackedList>value)._codec):
                return value
            if (<TrackedList>value)._owner is not None:
                refuse_second_owner(value)
        self.check_items(value)
        checked = []
        for item in value:
            try:
                checked.append(self.element.check(item))
            except ValueRejected as problem:
                raise problem.inside(f"[{index}]") from None
            index += 1
        return self.frozen(checked) if self.is_tuple else free_list(self, checked)

    cdef bint is_like(self, SequenceCodec other):
        """True when values of the other codec, of the same type written elsewhere, are values of this one."""
        return other.element is self.element and other.size == self.size

    cdef int check_items(self, object value) except -1:
        if not isinstance(value, (list, tuple)):
            raise rejected(f"{self.name}, which is a list", value)
        self.check_count(len(value))
        return 0

    cdef tuple frozen(self, list items):
        """What goes into a TUPLE is copied and may not change any more."""
        if self.element.holds:
            items = [self.element.copy(item) for item in items]
            for item in items:
                freeze(item)
        return tuple(items)

    cpdef object default(self):
        cdef list items = [self.new_element() for _ in range(max(self.size, 0))]
        return self.frozen(items) if self.is_tuple else free_list(self, items)

    cdef object new_element(self):
        return self.element.default() if self.preset is None else self.element.check(self.preset)

    cpdef object copy(self, object value):
        if self.is_tuple:
            return value
        return free_list(self, [self.element.copy(item) for item in value])

    cdef int put_value(self, Out* out, object value) except -1:
        if not (type(value) is TrackedList and (<TrackedList>value)._codec is self):
            self.check_items(value)
        if self.size < 0:
            put_length(out, len(value))
        return self.put_elements(out, value)

    cdef int put_elements(self, Out* out, object items) except -1:
        cdef Py_ssize_t index = 0
        cdef Codec element = self.element
        if isinstance(items, list):
            # A hook may run Python code that changes the list: look at its size each time, and hold the element.
            while index < PyList_GET_SIZE(items):
                item = <object>PyList_GET_ITEM(items, index)
                put_any(out, element, item)
                index += 1
        else:
            for item in items:
                put_any(out, element, item)
        return 0

    cpdef bytes encode_elements(self, object items):
        """The elements one after the other, without a count: the payload of a slice."""
        cdef char stack[ON_STACK]
        cdef Out out
        begin(&out, stack)
        try:
            self.put_elements(&out, items)
            return finished(&out)
        finally:
            if out.on_heap:
                PyMem_Free(out.data)

    def decode_elements(self, data, Py_ssize_t pos, Py_ssize_t most):
        """The elements that the rest of the data is made of, at most so many: the payload of a slice."""
        cdef bytes held = data if type(data) is bytes else bytes(data)
        cdef In source
        cdef list items = []
        if not 0 <= pos <= PyBytes_GET_SIZE(held):
            raise DecodeError("position outside the data", pos)
        source.start = <const uint8_t*>PyBytes_AS_STRING(held)
        source.at = source.start + pos
        source.end = source.start + PyBytes_GET_SIZE(held)
        while source.at < source.end:
            if PyList_GET_SIZE(items) == most:
                raise DecodeError(f"more than {most} new elements for {self.name}", source.at - source.start)
            items.append(self.element.get_value(&source))
        return items

    cdef object get_value(self, In* source):
        cdef Py_ssize_t count = self.size
        cdef Py_ssize_t index
        cdef Py_ssize_t start = source.at - source.start
        cdef TrackedList array
        cdef PyObject* item
        if count < 0:
            count = get_length(source, self.name)
            if count > (source.end - source.at) // self.element.least:
                raise DecodeError(f"{self.name} of {count} elements in {source.end - source.at} bytes", start)
        elif self.least > source.end - source.at:
            raise too_short(source, self.least, self.name)
        if self.is_tuple:
            return self.frozen([self.element.get_value(source) for index in range(count)])
        array = TrackedList.__new__(TrackedList)
        array._codec = self
        for index in range(count):
            item = get_any(source, self.element)
            list.append(array, <object>item)
            Py_DECREF(<object>item)
        return array


@cython.final
cdef class RecordCodec(Codec):
    """FIXED_DICT; `cls` is the class of the values (a RecordValue), `defaults` plain values or None per field."""

    cdef readonly tuple names
    cdef readonly tuple codecs
    cdef readonly tuple defaults
    cdef readonly bint allow_none
    cdef readonly object cls
    cdef readonly dict places
    cdef readonly tuple holders

    def __init__(self, str name, tuple names, tuple codecs, tuple defaults, bint allow_none, cls):
        self.name = name
        self.fixed = -1 if allow_none or any([each.fixed < 0 for each in codecs]) else sum([each.fixed for each in codecs])
        self.least = 1 if allow_none else sum([each.least for each in codecs])
        self.holds = True
        self.names = names
        self.codecs = codecs
        self.defaults = defaults
        self.allow_none = allow_none
        self.cls = RecordValue if cls is None else cls
        self.places = {each: index for index, each in enumerate(names)}
        self.holders = tuple([index for index, each in enumerate(codecs) if each.holds])

    cdef object build(self, tuple values):
        # `cls.__new__(cls)` without the Python call.
        cdef PyTypeObject* cls = <PyTypeObject*>self.cls
        cdef RecordValue record = cls.tp_new(cls, (), NULL)
        record._codec = self
        record._values = values
        return record

    cpdef object check(self, object value):
        cdef Py_ssize_t index
        cdef list checked
        if isinstance(value, RecordValue):
            if (<RecordValue>value)._codec is self or self.is_like(<RecordValue>value):
                return value
            if (<RecordValue>value)._owner is not None:
                refuse_second_owner(value)
        if value is None and self.allow_none:
            return None
        values = self.values_of(value)
        checked = []
        for index in range(PyTuple_GET_SIZE(self.codecs)):
            try:
                checked.append((<Codec>self.codecs[index]).check(values[index]))
            except ValueRejected as problem:
                raise problem.inside(f".{self.names[index]}") from None
        return self.build(tuple(checked))

    cdef bint is_like(self, RecordValue value):
        """True for a value of the same type written elsewhere, or of the one that may not be None."""
        cdef RecordCodec other = value._codec
        return type(value) is self.cls and other.codecs == self.codecs and other.names == self.names

    cdef tuple values_of(self, object value):
        """The field values, in order, of a record or a dict with exactly these fields."""
        if isinstance(value, RecordValue):
            if (<RecordValue>value)._codec is self or (<RecordValue>value)._codec.names == self.names:
                return (<RecordValue>value)._values
        elif isinstance(value, dict) and len(value) == len(self.names):
            try:
                return tuple([value[name] for name in self.names])
            except KeyError:
                pass
        none = " or None" if self.allow_none else ""
        raise rejected(f"{self.name} with the fields {', '.join(self.names)}{none}", value)

    def make(self, dict given):
        """A new record from some of the fields; the others get their defaults."""
        cdef Py_ssize_t index
        unknown = [name for name in given if name not in self.places]
        if unknown:
            fields = ", ".join(self.names) or "none"
            raise ValueRejected(f"expected the fields {fields}, got {', '.join(map(repr, unknown))} as well", self.name)
        values = []
        for index, name in enumerate(self.names):
            if name not in given:
                values.append(self.default_of(index))
                continue
            try:
                values.append((<Codec>self.codecs[index]).check(given[name]))
            except ValueRejected as problem:
                raise problem.inside(f"{self.name}.{name}") from None
        return self.build(tuple(values))

    cdef object default_of(self, Py_ssize_t index):
        plain = self.defaults[index]
        codec = <Codec>self.codecs[index]
        return codec.default() if plain is None else codec.check(plain)

    cpdef object default(self):
        cdef Py_ssize_t index
        if self.allow_none:
            return None
        return self.build(tuple([self.default_of(index) for index in range(len(self.names))]))

    cpdef object copy(self, object value):
        cdef Py_ssize_t index
        cdef tuple values
        if value is None:
            return None
        values = (<RecordValue?>value)._values
        return self.build(
            tuple([(<Codec>self.codecs[index]).copy(values[index]) for index in range(PyTuple_GET_SIZE(values))])
        )

    cdef int put_value(self, Out* out, object value) except -1:
        cdef tuple values
        cdef Py_ssize_t index
        if self.allow_none:
            put_byte(out, value is not None)
            if value is None:
                return 0
        values = self.values_of(value)
        for index in range(PyTuple_GET_SIZE(self.codecs)):
            put_any(out, <Codec>PyTuple_GET_ITEM(self.codecs, index), <object>PyTuple_GET_ITEM(values, index))
        return 0

    cdef object get_value(self, In* source):
        cdef Py_ssize_t index
        cdef Py_ssize_t count = PyTuple_GET_SIZE(self.codecs)
        cdef tuple values
        if self.allow_none:
            if source.at >= source.end:
                raise too_short(source, 1, self.name)
            if source.at[0] > 1:
                raise DecodeError(f"{self.name} begins with 0 (None) or 1, not {source.at[0]}", source.at - source.start)
            source.at += 1
            if (source.at - 1)[0] == 0:
                return None
        values = PyTuple_New(count)
        for index in range(count):
            set_tuple_item(values, index, get_any(source, <Codec>PyTuple_GET_ITEM(self.codecs, index)))
        return self.build(values)


@cython.final
cdef class HiddenCodec(Codec):
    """A value that the reader may not see: nothing of it is written, and the default is read. `preset` is the plain
    default, or None for the one of the type."""

    cdef readonly Codec inner
    cdef readonly object preset

    def __init__(self, Codec inner, preset):
        self.name = inner.name
        self.holds = inner.holds
        self.inner = inner
        self.preset = preset

    cpdef object check(self, object value):
        return self.inner.check(value)

    cpdef object default(self):
        return self.inner.default() if self.preset is None else self.inner.check(self.preset)

    cpdef object copy(self, object value):
        return self.inner.copy(value)

    cdef int put_value(self, Out* out, object value) except -1:
        return 0

    cdef object get_value(self, In* source):
        return self.default()


@cython.final
cdef class RowCodec:
    """Several values one after the other, without names or counts: arguments, or a part of an entity's properties."""

    cdef readonly tuple names
    cdef readonly tuple codecs

    def __init__(self, tuple names, tuple codecs):
        self.names = names
        self.codecs = codecs
        for each in codecs:
            if not isinstance(each, Codec):
                raise TypeError(f"expected a Codec, got {type(each).__name__}")

    cpdef bytes encode(self, object values):
        """The encoding of exactly these values."""
        cdef char stack[ON_STACK]
        cdef Out out
        cdef Py_ssize_t index
        cdef list held = values if type(values) is list else list(values)
        cdef Py_ssize_t count = PyTuple_GET_SIZE(self.codecs)
        begin(&out, stack)
        if PyList_GET_SIZE(held) != count:
            raise ValueRejected(f"expected {count} values, got {PyList_GET_SIZE(held)}")
        try:
            for index in range(count):
                # A hook may run Python code that changes the list: look at its size each time, and hold the value.
                if index >= PyList_GET_SIZE(held):
                    raise UsageError("the values changed while they were encoded")
                value = <object>PyList_GET_ITEM(held, index)
                put_any(&out, <Codec>PyTuple_GET_ITEM(self.codecs, index), value)
            return finished(&out)
        except (ValueRejected, UnicodeEncodeError, OverflowError):
            self.locate(index, value)
            raise
        finally:
            if out.on_heap:
                PyMem_Free(out.data)

    cdef locate(self, Py_ssize_t index, value):
        """Raise the error of a value that would not be written, with the place inside it."""
        try:
            (<Codec>self.codecs[index]).check(value)
        except ValueRejected as problem:
            raise problem.inside(self.names[index]) from None

    cpdef list decode(self, data):
        """The values that these bytes, all of them, encode."""
        cdef bytes held = data if type(data) is bytes else bytes(data)
        cdef In source
        cdef Py_ssize_t index
        cdef Py_ssize_t count = PyTuple_GET_SIZE(self.codecs)
        cdef list values = PyList_New(count)
        source.start = source.at = <const uint8_t*>PyBytes_AS_STRING(held)
        source.end = source.start + PyBytes_GET_SIZE(held)
        for index in range(count):
            set_list_item(values, index, get_any(&source, <Codec>PyTuple_GET_ITEM(self.codecs, index)))
        if source.at != source.end:
            raise DecodeError(f"{source.end - source.at} bytes too many after the last value", source.at - source.start)
        return values
