# The compiled session and its table. Compiled code of other packages may cimport `Session` and `Table`.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from terrazzo._speed.datagrams cimport Batch

cdef enum:
    RING_WORDS = 32


cdef struct Bytes:
    # A row of bytes that grows at its end and shrinks at its beginning.
    uint8_t* p
    Py_ssize_t start, size, room


cdef struct Span:
    int64_t start, stop


cdef struct Sent:
    # A packet in flight; `first` is the first span of the stream in it (empty: none), `more` has the others.
    int64_t number
    double sent_at
    Span first
    Span* more
    int more_count
    bint end
    bint gone


cdef class Rows:
    cdef readonly Py_ssize_t message_bytes
    cdef Bytes rows
    cdef uint64_t take_number

    cdef int put(self, Channel channel, const uint8_t* message) except -1


cdef class Channel:
    cdef readonly object drops
    cdef public bint blocked, is_confined
    cdef public double heard_at
    cdef public int64_t next_number
    cdef int state_number, reason_number
    cdef readonly bint closed_by_peer
    # Settings and transport.
    cdef double keep_alive_s, silence_s, end_timeout_s
    cdef int64_t send_queue_bytes_max, unreliable_queue_bytes_max
    cdef Py_ssize_t send_message_bytes_max, receive_message_bytes_max, packet_bytes_max
    cdef bint datagram
    # Time.
    cdef double last_sent_at, last_call_at, blocked_until, end_by
    cdef bint has_budget
    cdef int64_t budget_left, budget_bytes
    # The end.
    cdef bint probe, end_sent, end_acked, say_close
    cdef int64_t peer_end
    # What has come (acks.py).
    cdef int64_t newest, unreliable_newest, told_newest
    cdef uint64_t ring[32]
    cdef double ack_due_at, newest_at
    cdef int64_t ack_waiting
    # Control frames (control.py).
    cdef bint ping, has_challenge, has_answer, has_answered
    cdef int64_t end_offset
    cdef uint8_t challenge[8]
    cdef uint8_t answer[8]
    cdef uint8_t answered_with[8]
    # What is in flight (recovery.py).
    cdef Sent* sent
    cdef int sent_first, sent_stop, sent_room, flying
    cdef int64_t newest_acked, cut_before, lost_count, samples
    cdef double smoothed_s, variance_s, latest_s, window, threshold, flight_sent_at, loss_at
    cdef int backoffs
    # What waits to be sent (outbox.py).
    cdef Bytes stream, loose
    cdef int64_t base, sent_offset, resent_bytes, loose_bytes, loose_count
    cdef Span* resend
    cdef int resend_first, resend_stop, resend_room
    # What came early (assembly.py).
    cdef int64_t expected, held_bytes, stream_end_max
    cdef Py_ssize_t message_bytes_max, ranges_max
    cdef list held
    cdef Bytes partial
    # Lane and muting (lane.py).
    cdef Rows rows
    cdef bint has_lane, is_muting
    cdef int lane_first
    cdef Py_ssize_t lane_size
    cdef uint32_t lane_tag
    cdef double lane_per_s, lane_burst, lane_tokens, lane_since
    cdef uint64_t row_take
    cdef Py_ssize_t row_at
    cdef uint64_t muted_kinds[4]
    cdef int64_t muted, muted_bytes, gaps
    cdef double muted_at, gap_max_s
    # Counts.
    cdef int64_t packets_sent, packets_received, bytes_sent, bytes_received, probes, unreliable_dropped
    # The messages of the packet that is read.
    cdef list got

    cdef inline bint is_fresh(self, int64_t number) noexcept
    cdef void mark(self, int64_t number) noexcept
    cdef int finish(self, int reason, bint by_peer) except -1
    cdef int on_close(self, int64_t code) except -1
    cdef void note_arrival(self, int64_t number, double now) noexcept
    cdef void reset_assembly(self) noexcept
    cdef void reset_window(self) noexcept
    cdef void forget_sent(self, Sent* sent) noexcept
    cdef int repeat(self, Sent* sent) except -1
    cdef uint8_t* write_ack(self, uint8_t* p, int64_t bits_size, double now) noexcept
    cdef int hold(self, int64_t start, bytes data) except -1
    cdef int limit_loose(self) except -1
    cdef int read(self, int64_t number, const uint8_t* body, Py_ssize_t size, double now) except -1
    cdef int act(self, int64_t number, const uint8_t* body, double now) except -1
    cdef int assemble(self, const uint8_t* body, double now) except -1
    cdef int extend(self, Bytes* into, int64_t start, const uint8_t* data, Py_ssize_t size) except -1
    cdef int release(self, Bytes* into, double now) except -1
    cdef int deliver_loose(self, const uint8_t* body, double now) except -1
    cdef bint is_muted(self, const uint8_t* message, Py_ssize_t size) noexcept
    cdef bint lane_has_token(self, double now) noexcept
    cdef int on_ack(self, const uint8_t* body, double now) except -1
    cdef int find_lost(self, double now) except -1
    cdef int send_again(self, Sent* lost, int count) except -1
    cdef int push_resend(self, int64_t start, int64_t stop) except -1
    cdef void forget_flight(self) noexcept
    cdef void trim_flight(self) noexcept
    cdef int note_sent(self, double now, Span* spans, int count, bint end) except -1
    cdef void sample(self, double rtt_s, double delay_s) noexcept
    cdef double probe_wait(self) noexcept
    cdef int64_t stream_end(self) noexcept
    cdef bint stream_waits(self) noexcept
    cdef int queue_loose(self, const uint8_t* message, Py_ssize_t size) except -1
    cdef void drop_loose(self) noexcept
    cdef int queue_reliable(self, const uint8_t* message, Py_ssize_t size) except -1
    cdef bint send_one(self, const uint8_t* message, Py_ssize_t size, bint reliable) except -1
    cdef int on_time(self, double now) except -1
    cdef int begin_poll(self, double now, bint has_budget, int64_t budget) except -1
    cdef Py_ssize_t next_packet(self, uint8_t* body, double now) except -2
    cdef Py_ssize_t next_body(self, uint8_t* body, int64_t room, double now) except -2
    cdef Py_ssize_t take_control(self, uint8_t* body, int64_t room) noexcept
    cdef int take_spans(self, int64_t room) except -1
    cdef void finish_poll(self, double now) noexcept
    cdef double timeout(self) noexcept


cdef class Session:
    cdef readonly object id
    cdef readonly Channel channel
    cdef public str source
    cdef public bint is_admitted
    cdef public object on_touched, on_vouched, on_admitted
    cdef object own_address
    cdef uint8_t name[28]
    cdef int name_size            # -1: not looked at yet; 0: the address is no socket address
    cdef uint32_t own_id, peer_id
    cdef int suite
    cdef bint has_keys            # libsodium seals and opens
    cdef uint8_t send_key[32]
    cdef uint8_t receive_key[32]
    cdef object python_seal, python_open
    cdef int64_t packets_max
    cdef bint movable, has_token
    cdef object entropy, drops
    cdef int64_t forgeries, path_allowance
    cdef uint8_t token[8]
    cdef double challenge_at, lane_per_s
    # The table that has it, and what it keeps for it there.
    cdef Table table
    cdef bint is_touched
    cdef int slot

    cdef int touch(self) except -1
    cdef Py_ssize_t open(self, int64_t number, const uint8_t* data, Py_ssize_t size) except -2
    cdef Py_ssize_t seal(self, int64_t number, const uint8_t* body, Py_ssize_t size, uint8_t* packet) except -1
    cdef bint is_from(self, const uint8_t* name, int name_size, object address) except -1
    cdef int receive(self, const uint8_t* data, Py_ssize_t size, const uint8_t* name, int name_size, object address,
                     double now) except -1
    cdef int on_forgery(self) except -1
    cdef int move(self, object address, double now) except -1
    cdef int on_unproved_path(self, Py_ssize_t size, double now) except -1
    cdef int begin_poll(self, double now, bint has_budget, int64_t budget) except -1
    cdef Py_ssize_t next_datagram(self, uint8_t* packet, double now) except -2
    cdef double timeout(self) noexcept


cdef class Table:
    cdef readonly dict sessions
    cdef public list events
    cdef readonly Rows rows
    cdef Py_ssize_t packet_bytes_max
    cdef object retire
    cdef list touched
    cdef list slots               # sessions, and None
    cdef list free_slots
    cdef double* due
    cdef int due_room, due_count
    cdef double bound

    cdef int c_touch(self, Session session) except -1
    cdef int set_due(self, Session session, double due_at) except -1
    cdef int forget_due(self, Session session) except -1
    cdef int grow_due(self, int count) except -1
    cdef list take_touched(self, double now)
    cdef int after_poll(self, Session session, double now) except -1
    cdef int after_data(self, Session session, double now) except -1
