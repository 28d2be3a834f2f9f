"""The compiled form of ahead.py; that file says what it is for.

Each object is fetched a turn or more before those that it refers to: by then it is there, and says where they are.
"""

from cpython.list cimport PyList_GET_SIZE
from cpython.ref cimport PyObject

from terrazzo._speed.sight cimport Entry, Sight
from terrazzo.cell.client.sent cimport ClientRecord
from terrazzo.cell.client.witness cimport Witness
from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.streams cimport OutStream

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define prefetch(address) __builtin_prefetch(address)
    #else
    #define prefetch(address) ((void)(address))
    #endif
    #define items_of(list) (((PyListObject*)(list))->ob_item)
    #define keys_of(dict) (((PyDictObject*)(dict))->ma_keys)
    """
    void prefetch(const void* address) noexcept
    PyObject** items_of(PyObject* some_list) noexcept
    void* keys_of(PyObject* some_dict) noexcept

cdef enum:
    LINE = 64
    FIRST = 6
    SECOND = 4
    THIRD = 3
    FOURTH = 2
    FIFTH = 1


cdef inline void _fetch(const void* start, int lines) noexcept:
    cdef int line
    for line in range(lines):
        prefetch(<const char*>start + line * LINE)


cdef class Ahead:
    """What the loops of one app will read."""

    cpdef void serve(self, list witnesses, Py_ssize_t at) noexcept:
        """Witnesses whose clients are served; the first one follows the last."""
        cdef Py_ssize_t count = PyList_GET_SIZE(witnesses)
        cdef PyObject** items = items_of(<PyObject*>witnesses)
        cdef Witness witness
        cdef ClientRecord sent
        cdef Channel channel
        cdef OutStream stream
        cdef Sight sight
        if count <= FIRST:
            return
        _fetch(items[_after(at, FIRST, count)], 3)
        witness = <Witness>items[_after(at, SECOND, count)]
        _fetch(<PyObject*>witness.sent, 4)
        _fetch(<PyObject*>witness.channel, 4)
        witness = <Witness>items[_after(at, THIRD, count)]
        sent, channel = witness.sent, witness.channel
        _fetch(<PyObject*>sent.sight, 2)
        _fetch(<PyObject*>sent.budget, 2)
        _fetch(<PyObject*>sent.left, 1)
        _fetch(<PyObject*>sent._ends, 1)
        _fetch(<PyObject*>sent._undescribed, 1)
        _fetch(<PyObject*>sent.pending, 1)
        _fetch(<PyObject*>sent._loose, 1)
        if channel is not None:
            _fetch(<PyObject*>channel.place, 1)
            _fetch(<PyObject*>channel.box, 3)
            _fetch(<PyObject*>channel.outgoing, 2)
        witness = <Witness>items[_after(at, FOURTH, count)]
        sent, channel = witness.sent, witness.channel
        sight = sent.sight
        _fetch(sight._entries, 4)
        if channel is not None and channel.outgoing is not None:
            _fetch(<PyObject*>channel.outgoing.buffer, 1)
        witness = <Witness>items[_after(at, FIFTH, count)]
        sent, channel = witness.sent, witness.channel
        sight = sent.sight
        _fetch(<const char*>sight._entries + 4 * LINE, 8)
        if channel is not None and channel.outgoing is not None:
            stream = channel.outgoing
            if PyList_GET_SIZE(stream.buffer):
                _fetch(items_of(<PyObject*>stream.buffer), 1)


cdef inline Py_ssize_t _after(Py_ssize_t at, Py_ssize_t turns, Py_ssize_t count) noexcept:
    """The place so many turns later."""
    at += turns
    return at if at < count else at - count
