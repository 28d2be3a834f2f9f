"""The sizes and times of the entity channel."""

from __future__ import annotations


class ChannelLimits:
    """Sizes and times; all seconds are of the app's clock.

    window              payloads on their way that are not acknowledged
    frame_bytes         payloads in one frame; the last may exceed it
    payload_bytes_max   the largest payload: with a frame's worth of others before it, it fits a message between apps
    backlog_max, backlog_bytes
                        the payloads in one channel that are not acknowledged; as much may be sent again at once
    inbox_max, inbox_bytes
                        the payloads in the inbox of one part; the last that is admitted may exceed it
    ack_s               an acknowledgement waits so long for a frame that takes it along
    resend_s, resend_max_s
                        a frame without an answer is repeated after this time, later after the longer one
    idle_s, probe_s     a channel rests so long, until its stream is retired, or its peer is asked whether it is there
    stub_s              so long the place that a part left forwards, and the record of an ended part answers
    hops_max            a frame is forwarded so often
    locate_after        the resolver is asked after so many attempts; and
    locate_s            at most once in this time
    """

    __slots__ = (
        "ack_s", "backlog_bytes", "backlog_max", "frame_bytes", "hops_max", "idle_s", "inbox_bytes", "inbox_max",
        "locate_after", "locate_s", "payload_bytes_max", "probe_s", "resend_max_s", "resend_s", "stub_s", "window",
    )  # fmt: skip

    def __init__(
        self,
        *,
        window: int = 256,
        frame_bytes: int = 60_000,
        payload_bytes_max: int = 896 * 1024,
        backlog_max: int = 8192,
        backlog_bytes: int = 2 << 20,
        inbox_max: int = 4096,
        inbox_bytes: int = 2 << 20,
        ack_s: float = 0.25,
        resend_s: float = 1.0,
        resend_max_s: float = 4.0,
        idle_s: float = 30.0,
        probe_s: float = 300.0,
        stub_s: float = 120.0,
        hops_max: int = 8,
        locate_after: int = 3,
        locate_s: float = 2.0,
    ) -> None:
        self.window = window
        self.frame_bytes = frame_bytes
        self.payload_bytes_max = payload_bytes_max
        self.backlog_max = backlog_max
        self.backlog_bytes = backlog_bytes
        self.inbox_max = inbox_max
        self.inbox_bytes = inbox_bytes
        self.ack_s = ack_s
        self.resend_s = resend_s
        self.resend_max_s = resend_max_s
        self.idle_s = idle_s
        self.probe_s = probe_s
        self.stub_s = stub_s
        self.hops_max = hops_max
        self.locate_after = locate_after
        self.locate_s = locate_s
