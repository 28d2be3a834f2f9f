"""The compiled form of batches.py, which has the documentation."""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.string cimport memset

from terrazzo._speed.datagrams cimport NAME_BYTES, Batch, Entry

DATAGRAM_BYTES = 2048

cdef extern from *:
    """
    #include <errno.h>
    #include <string.h>
    #define AT_ONCE 64
    #ifdef __linux__
    #include <sys/socket.h>
    #define HAS_MANY 1
    #else
    #define HAS_MANY 0
    struct iovec { void* iov_base; size_t iov_len; };
    struct msghdr { void* msg_name; unsigned msg_namelen; struct iovec* msg_iov; size_t msg_iovlen; int msg_flags; };
    struct mmsghdr { struct msghdr msg_hdr; unsigned msg_len; };
    #define MSG_DONTWAIT 0
    static int recvmmsg(int fd, struct mmsghdr* many, unsigned count, int flags, void* timeout) { return -1; }
    static int sendmmsg(int fd, struct mmsghdr* many, unsigned count, int flags) { return -1; }
    #endif
    """
    enum:
        AT_ONCE
        HAS_MANY
        MSG_DONTWAIT
    cdef struct iovec:
        void* iov_base
        size_t iov_len
    cdef struct msghdr:
        void* msg_name
        unsigned msg_namelen
        iovec* msg_iov
        size_t msg_iovlen
        int msg_flags
    cdef struct mmsghdr:
        msghdr msg_hdr
        unsigned msg_len
    int recvmmsg(int fd, mmsghdr* many, unsigned count, int flags, void* timeout) nogil
    int sendmmsg(int fd, mmsghdr* many, unsigned count, int flags) nogil

cdef enum:
    SLOT = 2048


def receive(made, Batch batch not None, int most):
    cdef mmsghdr many[AT_ONCE]
    cdef iovec places[AT_ONCE]
    cdef int fd = made.fileno(), wanted, got, i
    cdef unsigned char* memory
    cdef Entry* entries
    if not HAS_MANY:
        return _receive_each(made, batch, most)
    while most > 0:
        wanted = min(most, AT_ONCE)
        memory = batch.reserve(wanted * SLOT)
        entries = batch.reserve_entries(wanted)
        memset(many, 0, wanted * sizeof(mmsghdr))
        for i in range(wanted):
            places[i].iov_base = memory + i * SLOT
            places[i].iov_len = SLOT
            many[i].msg_hdr.msg_iov = &places[i]
            many[i].msg_hdr.msg_iovlen = 1
            many[i].msg_hdr.msg_name = entries[i].name
            many[i].msg_hdr.msg_namelen = NAME_BYTES
        with nogil:
            got = recvmmsg(fd, many, wanted, MSG_DONTWAIT, NULL)
        if got < 0:
            return 0 if errno in (EAGAIN, EINTR) else 1
        for i in range(got):
            entries[i].at = batch.used + i * SLOT
            entries[i].size = <int>many[i].msg_len
            entries[i].name_size = <int>many[i].msg_hdr.msg_namelen
        batch.used += got * SLOT
        batch.count += got
        most -= got
        if got < wanted:
            break
    return 0


def send(made, Batch batch not None):
    cdef mmsghdr many[AT_ONCE]
    cdef iovec places[AT_ONCE]
    cdef int fd = made.fileno(), wanted, sent, i, errors = 0
    cdef Entry* entry
    if not HAS_MANY:
        return _send_each(made, batch)
    while batch.first < batch.count:
        wanted = min(batch.count - batch.first, AT_ONCE)
        memset(many, 0, wanted * sizeof(mmsghdr))
        for i in range(wanted):
            entry = &batch.entries[batch.first + i]
            if not entry.name_size:
                wanted = i
                break
            places[i].iov_base = batch.memory + entry.at
            places[i].iov_len = entry.size
            many[i].msg_hdr.msg_iov = &places[i]
            many[i].msg_hdr.msg_iovlen = 1
            many[i].msg_hdr.msg_name = entry.name
            many[i].msg_hdr.msg_namelen = entry.name_size
        if not wanted:
            errors += _send_first(made, batch)
            continue
        with nogil:
            sent = sendmmsg(fd, many, wanted, MSG_DONTWAIT)
        if sent > 0:
            batch.first += sent
        elif errno == EAGAIN:
            return errors
        elif errno != EINTR:
            errors += 1
            batch.first += 1
    batch.clear()
    return errors


cdef int _send_first(made, Batch batch) except -1:
    """Sends one with an address that is not in digits: a name perhaps. It is lost when the system takes no more."""
    address, data = batch[0]
    batch.first += 1
    try:
        made.sendto(data, address)
    except (OSError, TypeError, ValueError):
        return 1
    return 0


cdef int _receive_each(made, Batch batch, int most) except -1:
    try:
        for _ in range(most):
            data, address = made.recvfrom(DATAGRAM_BYTES)
            batch.add(address, data)
    except BlockingIOError:
        pass
    except OSError:
        return 1
    return 0


cdef int _send_each(made, Batch batch) except -1:
    cdef int errors = 0
    while len(batch):
        address, data = batch[0]
        try:
            made.sendto(data, address)
        except BlockingIOError:
            break
        except OSError:
            errors += 1
        batch.drop(1)
    return errors
