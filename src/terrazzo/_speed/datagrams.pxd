# What the kernels that fill, read and empty a batch share.

cdef enum:
    NAME_BYTES = 28   # a sockaddr_in6 is the longest


cdef struct Entry:
    Py_ssize_t at     # where the datagram begins in the memory of the batch
    int size
    int name_size     # 0: the address is no socket address, but an object in `others`
    unsigned char name[28]


cdef class Batch:
    cdef unsigned char* memory
    cdef Py_ssize_t used, room
    cdef Entry* entries
    cdef int first, count, entries_room    # those before `first` are done with
    cdef dict others

    cdef unsigned char* reserve(self, Py_ssize_t size) except NULL
    cdef Entry* reserve_entries(self, int count) except NULL
    cdef Entry* push(self, Py_ssize_t size) except NULL
    cdef object address_of(self, int number)


cdef int write_name(object address, unsigned char* name) except -1
cdef object read_name(const unsigned char* name, int size)
