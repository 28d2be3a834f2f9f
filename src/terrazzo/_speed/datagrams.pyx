"""The compiled form of datagrams.py, which documents it.

All datagrams are in one piece of memory, in their order. An address is kept as the system has it (a `sockaddr`), where it
is one of IPv4 or IPv6 in digits; any other address is kept as the object that it is.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #include <string.h>
    #ifdef _WIN32
    static int name_write(const char* host, int is6, unsigned port, unsigned flow, unsigned scope, unsigned char* name)
    { return 0; }
    static int name_read(const unsigned char* name, int size, char* host, int room, unsigned* port, unsigned* flow,
                         unsigned* scope)
    { return 0; }
    #else
    #include <arpa/inet.h>
    #include <netinet/in.h>
    #include <sys/socket.h>
    static int name_write(const char* host, int is6, unsigned port, unsigned flow, unsigned scope, unsigned char* name)
    {
        if (is6) {
            struct sockaddr_in6 full;
            memset(&full, 0, sizeof full);
            full.sin6_family = AF_INET6;
            full.sin6_port = htons((unsigned short)port);
            full.sin6_flowinfo = htonl(flow);
            full.sin6_scope_id = scope;
            if (inet_pton(AF_INET6, host, &full.sin6_addr) != 1) return 0;
            memcpy(name, &full, sizeof full);
            return (int)sizeof full;
        } else {
            struct sockaddr_in full;
            memset(&full, 0, sizeof full);
            full.sin_family = AF_INET;
            full.sin_port = htons((unsigned short)port);
            if (inet_pton(AF_INET, host, &full.sin_addr) != 1) return 0;
            memcpy(name, &full, sizeof full);
            return (int)sizeof full;
        }
    }
    static int name_read(const unsigned char* name, int size, char* host, int room, unsigned* port, unsigned* flow,
                         unsigned* scope)
    {
        struct sockaddr_in6 full;
        struct sockaddr_in four;
        if (size == (int)sizeof four) {
            memcpy(&four, name, sizeof four);
            if (four.sin_family != AF_INET || !inet_ntop(AF_INET, &four.sin_addr, host, (socklen_t)room)) return 0;
            *port = ntohs(four.sin_port);
            return 4;
        }
        if (size != (int)sizeof full) return 0;
        memcpy(&full, name, sizeof full);
        if (full.sin6_family != AF_INET6 || !inet_ntop(AF_INET6, &full.sin6_addr, host, (socklen_t)room)) return 0;
        *port = ntohs(full.sin6_port);
        *flow = ntohl(full.sin6_flowinfo);
        *scope = full.sin6_scope_id;
        return 6;
    }
    #endif
    """
    int name_write(const char* host, int is6, unsigned port, unsigned flow, unsigned scope, unsigned char* name)
    int name_read(const unsigned char* name, int size, char* host, int room, unsigned* port, unsigned* flow,
                  unsigned* scope)


cdef int write_name(object address, unsigned char* name) except -1:
    """The address as the system has it; gives its size, or 0 when it cannot be one."""
    cdef long port, flow = 0, scope = 0
    cdef Py_ssize_t parts
    cdef bytes host
    if type(address) is not tuple:
        return 0
    parts = len(<tuple>address)
    if (parts != 2 and parts != 4) or type(address[0]) is not str:
        return 0
    for part in (<tuple>address)[1:]:
        if type(part) is not int or not 0 <= part <= 0xFFFFFFFF:
            return 0
    port = address[1]
    if port > 0xFFFF or not (<str>address[0]).isascii():
        return 0
    if parts == 4:
        flow, scope = address[2], address[3]
        if flow > 0xFFFFF:
            return 0
    host = (<str>address[0]).encode()
    if 0 in host:
        return 0
    return name_write(PyBytes_AS_STRING(host), parts == 4, port, flow, scope, name)


cdef object read_name(const unsigned char* name, int size):
    """The address as Python's sockets have it."""
    cdef char host[64]
    cdef unsigned port = 0, flow = 0, scope = 0
    cdef int version = name_read(name, size, host, sizeof(host), &port, &flow, &scope)
    if version == 4:
        return (host.decode("ascii"), port)
    if version == 6:
        return (host.decode("ascii"), port, flow, scope)
    return None


cdef class Batch:
    def __cinit__(self):
        self.memory = NULL
        self.entries = NULL
        self.used = self.room = 0
        self.first = self.count = self.entries_room = 0
        self.others = {}

    def __dealloc__(self):
        PyMem_Free(self.memory)
        PyMem_Free(self.entries)

    def __len__(self):
        return self.count - self.first

    def __getitem__(self, int at):
        if not 0 <= at < self.count - self.first:
            raise IndexError("there is no such datagram")
        cdef Entry* entry = &self.entries[self.first + at]
        return self.address_of(self.first + at), PyBytes_FromStringAndSize(<char*>self.memory + entry.at, entry.size)

    def add(self, address, bytes data not None):
        cdef Py_ssize_t size = PyBytes_GET_SIZE(data)
        cdef unsigned char* place
        cdef Entry* entry
        if size > 0x7FFFFFFF:
            raise ValueError("a datagram is not that large")
        place = self.reserve(size)
        memcpy(place, PyBytes_AS_STRING(data), size)
        entry = self.push(size)
        entry.name_size = write_name(address, entry.name)
        if not entry.name_size:
            self.others[self.count - 1] = address

    def clear(self):
        self.first = self.count = 0
        self.used = 0
        if self.others:
            self.others.clear()

    def drop(self, int count):
        if not 0 <= count <= self.count - self.first:
            raise ValueError("there are not so many")
        self.first += count
        if self.first == self.count:
            self.clear()

    cdef unsigned char* reserve(self, Py_ssize_t size) except NULL:
        """Memory for so many bytes at the end; `push` then adds the datagram that was written there."""
        cdef unsigned char* memory
        cdef Py_ssize_t room
        if self.used + size > self.room or self.memory == NULL:
            room = max(2 * self.room, self.used + size, 4096)
            memory = <unsigned char*>PyMem_Realloc(self.memory, room)
            if memory == NULL:
                raise MemoryError
            self.memory = memory
            self.room = room
        return self.memory + self.used

    cdef Entry* reserve_entries(self, int count) except NULL:
        """Entries for so many datagrams at the end."""
        cdef Entry* entries
        cdef int room
        if self.count + count > self.entries_room:
            room = max(2 * self.entries_room, self.count + count, 16)
            entries = <Entry*>PyMem_Realloc(self.entries, room * sizeof(Entry))
            if entries == NULL:
                raise MemoryError
            self.entries = entries
            self.entries_room = room
        return &self.entries[self.count]

    cdef Entry* push(self, Py_ssize_t size) except NULL:
        """Adds a datagram of this size, which is at the end of the memory already; its address is to be set."""
        cdef Entry* entry = self.reserve_entries(1)
        entry.at = self.used
        entry.size = <int>size
        entry.name_size = 0
        self.used += size
        self.count += 1
        return entry

    cdef object address_of(self, int number):
        cdef Entry* entry = &self.entries[number]
        if entry.name_size:
            return read_name(entry.name, entry.name_size)
        return self.others.get(number)
