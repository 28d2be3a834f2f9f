"""The compiled form of tally.py, which documents it."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc


cdef class Tally:
    """Rows 0, 1, …"""

    def __cinit__(self):
        self.new_row()

    def __dealloc__(self):
        free(self._rows)

    def __len__(self):
        return self._count

    def new_row(self):
        """One more, at zero."""
        cdef Py_ssize_t room
        cdef void* grown
        if self._count == self._room:
            room = 2 * self._room + 16
            grown = realloc(self._rows, room * sizeof(Count))
            if grown == NULL:
                raise MemoryError
            self._rows = <Count*>grown
            self._room = room
        self._rows[self._count] = Count(0, 0)
        self._count += 1
        return self._count - 1

    cpdef add(self, Py_ssize_t row, int64_t messages, int64_t size):
        """So many more messages, of so many bytes together."""
        if not 0 <= row < self._count:
            raise IndexError(row)
        self._rows[row].messages += messages
        self._rows[row].size += size

    def get(self, Py_ssize_t row):
        """Messages and bytes of a row so far."""
        if not 0 <= row < self._count:
            raise IndexError(row)
        return self._rows[row].messages, self._rows[row].size
