# C types for values.py: the fields of the tracked values, and direct calls between their functions.
import cython


cdef class Change:
    cdef public int kind
    cdef public Py_ssize_t prop
    cdef public tuple path
    cdef public tuple counts
    cdef public Py_ssize_t start
    cdef public Py_ssize_t end
    cdef public bytes payload


cdef class Slots:
    cdef public str label
    cdef public object names
    cdef public object codecs
    cdef public list values
    cdef public object listener
    cdef public Py_ssize_t change_bytes_max

    @cython.locals(payload=bytes)
    cpdef bint assign(self, Py_ssize_t index, object value) except -1
    cpdef object install(self, Py_ssize_t index, object value)
    cpdef release_all(self)


@cython.freelist(256)
cdef class RecordValue:
    cdef public object _codec
    cdef public Py_ssize_t _index
    cdef public object _owner
    cdef public tuple _values


cdef class TrackedList(list):
    cdef public object _codec
    cdef public Py_ssize_t _index
    cdef public object _owner


cpdef adopt(object value, object owner, Py_ssize_t index)
cdef link_list(TrackedList value, object owner, Py_ssize_t index)
cdef link_record(RecordValue value, object owner, Py_ssize_t index)
cpdef release(object value)
cpdef freeze(object value)
cdef relink(object value, object owner)
cdef relink_list(TrackedList value, object owner)
cdef relink_record(RecordValue value, object owner)
@cython.locals(record=RecordValue)
cpdef new_record(object cls, object codec, tuple values)
cdef Py_ssize_t place_in(TrackedList owner, object child) except -1
cdef check_size(object value, bytes payload)
@cython.locals(path=list, counts=list)
cdef emit(object value, int kind, Py_ssize_t count, Py_ssize_t start, Py_ssize_t end, bytes payload)
@cython.locals(values=tuple, payload=bytes)
cdef set_field(RecordValue record, Py_ssize_t place, object value)
@cython.locals(payload=bytes)
cdef set_element(TrackedList array, Py_ssize_t index, object value)
@cython.locals(new=list, old=list, payload=bytes)
cdef splice(TrackedList array, Py_ssize_t start, Py_ssize_t end, object values)
@cython.locals(values=tuple)
cpdef install_field(RecordValue record, Py_ssize_t place, object new)
cpdef install_element(TrackedList array, Py_ssize_t index, object new)
@cython.locals(old=list)
cpdef list install_slice(TrackedList array, Py_ssize_t start, Py_ssize_t end, list new)
cdef join(object value, object container, Py_ssize_t index)
