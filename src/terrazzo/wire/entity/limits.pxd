# C types for limits.py.


cdef class ChannelLimits:
    cdef readonly long long window
    cdef readonly long long frame_bytes
    cdef readonly long long payload_bytes_max
    cdef readonly long long backlog_max
    cdef readonly long long backlog_bytes
    cdef readonly long long inbox_max
    cdef readonly long long inbox_bytes
    cdef readonly double ack_s
    cdef readonly double resend_s
    cdef readonly double resend_max_s
    cdef readonly double idle_s
    cdef readonly double probe_s
    cdef readonly double stub_s
    cdef readonly long long hops_max
    cdef readonly long long locate_after
    cdef readonly double locate_s
