"""The compiled form of ahead.py, which documents it.

Each object is fetched a few turns before those that it refers to: by then it is there, and has their addresses.
"""

from cpython.list cimport PyList_GET_SIZE
from cpython.ref cimport PyObject

from terrazzo.wire.entity.channel cimport Channel
from terrazzo.wire.entity.mailbox cimport Mailbox
from terrazzo.wire.entity.streams cimport OutStream

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define prefetch(address) __builtin_prefetch(address)
    #else
    #define prefetch(address) ((void)(address))
    #endif
    #define items_of(list) (((PyListObject*)(list))->ob_item)
    """
    void prefetch(const void* address) noexcept
    PyObject** items_of(PyObject* some_list) noexcept

cdef enum:
    LINE = 64
    FIRST = 16
    SECOND = 11
    THIRD = 7
    FOURTH = 4
    FIFTH = 2


cdef inline void _fetch(const void* start, int lines) noexcept:
    cdef int line
    for line in range(lines):
        prefetch(<const char*>start + line * LINE)


cdef class Ahead:
    """What the loops of one app will read."""

    cpdef void speak(self, list channels, Py_ssize_t at) noexcept:
        """Channels that are to send something."""
        cdef Py_ssize_t left = PyList_GET_SIZE(channels) - at
        cdef PyObject** items = items_of(<PyObject*>channels) + at
        cdef Channel channel
        cdef OutStream stream
        if left > FIRST:
            _fetch(items[FIRST], 4)
        if left > SECOND:
            channel = <Channel>items[SECOND]
            _fetch(<PyObject*>channel.place, 1)
            _fetch(<PyObject*>channel.box, 3)
            _fetch(<PyObject*>channel.incoming, 1)
            _fetch(<PyObject*>channel.outgoing, 2)
        if left > THIRD:
            stream = (<Channel>items[THIRD]).outgoing
            if stream is not None:
                _fetch(<PyObject*>stream.buffer, 1)
        if left > FOURTH:
            stream = (<Channel>items[FOURTH]).outgoing
            if stream is not None and PyList_GET_SIZE(stream.buffer):
                _fetch(items_of(<PyObject*>stream.buffer), 1)
        if left > FIFTH:
            stream = (<Channel>items[FIFTH]).outgoing
            if stream is not None and PyList_GET_SIZE(stream.buffer):
                _fetch(items_of(<PyObject*>stream.buffer)[PyList_GET_SIZE(stream.buffer) - 1], 2)

    cpdef void take(self, list boxes, Py_ssize_t at) noexcept:
        """Mailboxes with messages that are to be taken."""
        cdef Py_ssize_t left = PyList_GET_SIZE(boxes) - at
        cdef PyObject** items = items_of(<PyObject*>boxes) + at
        cdef Mailbox box
        if left > FIRST:
            _fetch(items[FIRST], 3)
        if left > SECOND:
            box = <Mailbox>items[SECOND]
            _fetch(<PyObject*>box.inbox, 1)
            _fetch(<PyObject*>box.recent, 4)
        if left > THIRD:
            box = <Mailbox>items[THIRD]
            if PyList_GET_SIZE(box.inbox):
                _fetch(items_of(<PyObject*>box.inbox), 1)
            if type(box.recent) is Channel:
                _fetch(<PyObject*>(<Channel>box.recent).incoming, 1)
        if left > FOURTH:
            box = <Mailbox>items[FOURTH]
            if PyList_GET_SIZE(box.inbox):
                _fetch(items_of(<PyObject*>box.inbox)[0], 1)
