"""The hostile network: connections that keep the order of frames, and datagrams that may be lost and overtaken.

A **connection** carries a link: it has two directions, each a queue that is never reordered. A direction may be slow
(latency, jitter, capacity), clogged (nothing passes, nothing is lost), or cut. A broken connection delivers what had
already passed, loses the rest, and reports its end to the two sides at different times.

Each **datagram** may be lost, repeated, delayed and overtaken by itself.

Between two places (strings) there is a `Path` with the present conditions; a partition is a set of paths that are shut.
On connections over a shut path nothing passes, as with TCP; new ones are not opened; datagrams are lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from terrazzo.sim.clock import Clock


@dataclass
class Path:
    """The present conditions between two places, the same in both directions except where noted."""

    latency_s: float = 0.001
    jitter_s: float = 0.0
    bytes_per_s: float = 125e6
    loss: float = 0.0
    duplication: float = 0.0
    shut: int = 0  # the number of partitions that separate these two
    clogs: int = 0  # the number of faults that hold up both directions
    clogs_to: dict[str, int] = field(default_factory=dict)  # … and only the direction to one of the two places
    lags_to: dict[str, float] = field(default_factory=dict)  # additional latency of the direction to a place

    @property
    def is_shut(self) -> bool:
        """Whether the two cannot reach each other."""
        return self.shut > 0

    def is_stuck(self, to: str) -> bool:
        """Whether nothing passes to one of the two places at present."""
        return self.shut > 0 or self.clogs > 0 or (bool(self.clogs_to) and self.clogs_to.get(to, 0) > 0)

    def delay_s(self, to: str, rng: Random) -> float:
        """The time that a frame takes to one of the two places."""
        return self.latency_s + self.jitter_s * rng.random() + (self.lags_to.get(to, 0.0) if self.lags_to else 0.0)


class Endpoint(Protocol):
    """One end of connections: the events that `cluster.links.Links` gets from its transport."""

    def on_accepted(self, number: int) -> None: ...
    def on_opened(self, number: int) -> None: ...
    def on_closed(self, number: int) -> None: ...
    def on_data(self, number: int, data: bytes) -> None: ...


_OPENED, _DATA, _CLOSED = range(3)
Word = tuple[int, bytes]


class _Direction:
    """One direction of a connection: the frames that are under way, in order."""

    __slots__ = ("free_at", "is_waking", "queue", "to")

    def __init__(self, to: Wire) -> None:
        self.to = to
        self.queue: deque[tuple[float, Word]] = deque()
        self.free_at = 0.0
        self.is_waking = False


class Wire:
    """One end of a connection."""

    __slots__ = ("far", "is_open", "number", "out", "path", "place")

    def __init__(self, number: int, place: str, path: Path) -> None:
        self.number = number
        self.place = place
        self.path = path
        self.is_open = True
        self.far: Wire
        self.out: _Direction


class Network:
    """All connections and datagrams of one run."""

    def __init__(self, clock: Clock, rng: Random) -> None:
        self.default = Path()
        self._clock = clock
        self._rng = rng
        self._paths: dict[tuple[str, str], Path] = {}
        self._endpoints: dict[str, Callable[[], Endpoint | None]] = {}
        self._receivers: dict[str, Callable[[str, bytes], None]] = {}
        self._wires: dict[int, Wire] = {}
        self._number = 0

    def path(self, a: str, b: str) -> Path:
        """The conditions between two places; may be changed at any time."""
        key = (a, b) if a < b else (b, a)
        path = self._paths.get(key)
        if path is None:
            default = self.default
            path = self._paths[key] = Path(
                default.latency_s, default.jitter_s, default.bytes_per_s, default.loss, default.duplication
            )
        return path

    def longest_s(self) -> float:
        """The longest time that a message takes without faults."""
        return max(path.latency_s + path.jitter_s for path in (self.default, *self._paths.values()))

    # Connections.

    def listen(self, place: str, endpoint: Callable[[], Endpoint | None]) -> None:
        """`endpoint()` returns the endpoint that answers at `place` at present: None while there is none."""
        self._endpoints[place] = endpoint

    def dial(self, source: str, target: str) -> int:
        """Begins a connection; the endpoint at `source` gets on_opened or on_closed."""
        path = self.path(source, target)
        near, far = self._wire(source, path), self._wire(target, path)
        near.far, far.far = far, near
        near.out, far.out = _Direction(far), _Direction(near)
        if path.is_shut or target not in self._endpoints or self._endpoints[target]() is None:
            far.is_open = False
            self._push(far, (_CLOSED, b""))
        else:
            self._push(near, (_OPENED, b""))
            self._push(far, (_OPENED, b""))
        return near.number

    def write(self, number: int, data: bytes) -> None:
        """Sends one frame; on a closed connection it is dropped."""
        wire = self._wires.get(number)
        if wire is not None and wire.is_open:
            self._push(wire, (_DATA, data))

    def close(self, number: int) -> None:
        """Ends a connection from one side: the other side gets on_closed after the frames written before."""
        wire = self._wires.pop(number, None)
        if wire is not None and wire.is_open:
            wire.is_open = False
            self._push(wire, (_CLOSED, b""))

    def break_between(self, a: str, b: str) -> int:
        """Breaks all connections between two places: what is under way is lost. Returns how many there were."""
        broken = 0
        for wire in list(self._wires.values()):
            if wire.is_open and wire.far.is_open and {wire.place, wire.far.place} == {a, b}:
                broken += 1
                for end in (wire, wire.far):
                    end.is_open = False
                    end.out.queue.clear()
                for end in (wire, wire.far):
                    self._clock.after(self._rng.uniform(0.0, 0.05), self._report_closed, end)
        return broken

    def end_all(self, place: str, *, silently: bool) -> None:
        """Ends all connections of a process: the far ends get on_closed, or (with `silently`) never do."""
        for wire in [wire for wire in self._wires.values() if wire.place == place]:
            if silently:
                wire.is_open = False
                wire.out.queue.clear()
                self._wires.pop(wire.number, None)
            else:
                self.close(wire.number)

    def reconsider(self) -> None:
        """Called when conditions have changed: delivers what may pass now."""
        for wire in list(self._wires.values()):
            for direction in (wire.out, wire.far.out):
                self._wake(direction)

    def widen(self, path: Path) -> None:
        """Called when a path carries more than before: frames that wait to be sent were scheduled for the narrow path
        and get earlier times. No frame overtakes another."""
        now = self._clock.now
        for wire in self._wires.values():
            if wire.path is path and wire.out.queue:
                self._hasten(wire.out, path, now)

    def _hasten(self, direction: _Direction, path: Path, now: float) -> None:
        under_way_s = path.latency_s + path.lags_to.get(direction.to.place, 0.0)
        sent, last = now, 0.0
        hastened: deque[tuple[float, Word]] = deque()
        for ready, word in direction.queue:
            if ready > now + under_way_s + path.jitter_s:  # earlier ones have been sent already
                sent += len(word[1]) / path.bytes_per_s
                ready = min(ready, sent + under_way_s)
            last = max(last, ready)
            hastened.append((last, word))
        direction.queue, direction.free_at = hastened, min(direction.free_at, sent)
        self._clock.at(max(now, hastened[0][0]), self._pass, direction)

    def _wire(self, place: str, path: Path) -> Wire:
        self._number += 1
        wire = self._wires[self._number] = Wire(self._number, place, path)
        return wire

    def _push(self, wire: Wire, word: Word) -> None:
        direction, path = wire.out, wire.path
        ready = max(direction.free_at, self._clock.now)
        ready += len(word[1]) / path.bytes_per_s
        direction.free_at = ready
        ready += path.delay_s(direction.to.place, self._rng)
        if direction.queue and direction.queue[-1][0] > ready:
            ready = direction.queue[-1][0]
        direction.queue.append((ready, word))
        self._wake(direction)

    def _wake(self, direction: _Direction) -> None:
        if direction.queue and not direction.is_waking and not direction.to.path.is_stuck(direction.to.place):
            direction.is_waking = True
            self._clock.at(direction.queue[0][0], self._pass, direction)

    def _pass(self, direction: _Direction) -> None:
        """Delivers what is due in one direction, in order."""
        direction.is_waking = False
        queue, to = direction.queue, direction.to
        while queue and queue[0][0] <= self._clock.now and not to.path.is_stuck(to.place):
            self._arrive(to, queue.popleft()[1])
        self._wake(direction)

    def _arrive(self, to: Wire, word: Word) -> None:
        kind, data = word
        if kind == _CLOSED:
            self._report_closed(to)
            return
        endpoint = self._endpoint(to)
        if endpoint is None:
            return
        if kind == _DATA:
            endpoint.on_data(to.number, data)
        elif to.number < to.far.number:
            endpoint.on_opened(to.number)
        else:
            endpoint.on_accepted(to.number)

    def _report_closed(self, wire: Wire) -> None:
        endpoint = self._endpoint(wire)
        if self._wires.pop(wire.number, None) is not None and endpoint is not None:
            wire.is_open = False
            endpoint.on_closed(wire.number)

    def _endpoint(self, wire: Wire) -> Endpoint | None:
        if wire.number not in self._wires:
            return None
        answer = self._endpoints.get(wire.place)
        return answer() if answer is not None else None

    # Datagrams.

    def receive_datagrams(self, place: str, receiver: Callable[[str, bytes], None]) -> None:
        """`receiver(source, data)` is called for each datagram to `place`."""
        self._receivers[place] = receiver

    def send_datagram(self, source: str, target: str, data: bytes) -> None:
        """Sends a datagram: it may be lost, arrive twice, or arrive after later ones."""
        path, rng = self.path(source, target), self._rng
        if path.is_stuck(target):
            return
        copies = 1 + (rng.random() < path.duplication)
        for _ in range(copies):
            if rng.random() >= path.loss:
                delay = path.delay_s(target, rng) + len(data) / path.bytes_per_s
                self._clock.after(delay, self._land, source, target, data)

    def _land(self, source: str, target: str, data: bytes) -> None:
        receiver = self._receivers.get(target)
        if receiver is not None and not self.path(source, target).is_shut:
            receiver(source, data)
