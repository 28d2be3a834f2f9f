"""Instances: spaces that the code of a game makes and ends while the world is in play. The asking side; BaseApps and
CellApps have one. The CellAppMgr has the other side (`managers/changes.py`, `managers/instances.py`).

    create_space, end_space, set_space_data
                                ──▶ waiting ──SpaceChanges──▶ CellAppMgr, the same again and again until it answers
                                                                    │
                          the method that asked gets the name ◀──SpaceChangesMade

The rules:

- *Each change is made once.* The changes of an app are numbered, one request with some of them is under way at a time,
  and it is sent again until it is answered, however long the manager is out of reach. So nothing is left uncertain.
- *No instance without a name.* Only the method that asked for an instance gets its name. Where that method has ended,
  or does not wait any more, the instance is ended as soon as it is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from terrazzo.cluster.app import Host
from terrazzo.errors import SpaceFailed, UsageError, ValueRejected, shown
from terrazzo.game import DATA_BYTES_MAX, DATA_KEYS_MAX, INSTANCE_MARK, NAME_MAX, Bounds, is_instance_name
from terrazzo.schema.arguments import number, text
from terrazzo.schema.plaindata import Opaque, encode_plain
from terrazzo.sync.awaiting import Awaiting, Task, Wait
from terrazzo.wire.ids import AppId, PartId
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.spaces import SpaceAct, SpaceChange, SpaceChanges, SpaceChangesMade, SpaceOutcome
from terrazzo.wire.requests import Failure, Requests
from terrazzo.world.place import PLACE_MAX

SPACE_S = 20.0
"""How long a method waits for a change by default."""
KIND_MAX = 100
"""Characters of the part of a name that the game chooses."""
WAITING_MAX = 1000
"""Changes of one app that wait."""
TOGETHER_MAX = 64
"""Changes in one request."""
ANSWER_S = 5.0
AGAIN_S = 0.3

Done = Callable[[SpaceOutcome], None]
Items = tuple[tuple[str, bytes], ...]
NO_DATA: Mapping[str, Any] = MappingProxyType({})


class SpaceWait(Wait):
    """What a method waits for that has asked for an instance."""

    __slots__ = ("is_taken_over",)

    def __init__(self, part: PartId, number: int, what: str, due: float) -> None:
        super().__init__(part, number, what, due)
        self.is_taken_over = False
        """Whether the method has got the name."""

    def __await__(self) -> Generator[Wait, None, Any]:
        value = yield from super().__await__()
        self.is_taken_over = True
        return value


class _Made(NamedTuple):
    """An instance with a name that its method has not got yet."""

    space: str
    wait: SpaceWait
    task: Task


class SpaceAsker:
    """The changes of spaces that the code of one app's parts has asked for."""

    def __init__(self, host: Host, requests: Requests, awaiting: Awaiting, manager: Callable[[], AppId | None]) -> None:
        """`manager` returns the CellAppMgr while it is linked."""
        self._host = host
        self._requests = requests
        self._awaiting = awaiting
        self._manager = manager
        self._waiting: deque[tuple[SpaceChange, Done]] = deque()
        self._under_way: list[tuple[SpaceChange, Done]] = []
        self._first = 1
        """The number of the first change that is under way, or of the next one."""
        self._again_at: float | None = None
        """When the request is sent again; None: it is not, or was sent."""
        self._made: list[_Made] = []

    def __len__(self) -> int:
        return len(self._waiting) + len(self._under_way) + len(self._made)

    # What the game asks for.

    def create(self, part: PartId, kind: str, bounds: Bounds, data: Items, timeout_s: float) -> Wait:
        """An instance; gives its name."""
        task = self._awaiting.current
        if task is None or not self._awaiting.can_wait(part):
            raise UsageError(
                "create_space: what it gives is the name of the space: write name = await self.create_space(…), in an "
                "async def"
            )
        self._check_room()
        wait = self._awaiting.promise(part, f"creation of a space {kind!r}", timeout_s, SpaceWait)
        assert isinstance(wait, SpaceWait)
        self._add(SpaceChange(SpaceAct.CREATE, kind, bounds, data), partial(self._on_created, wait, task))
        return wait

    def end(self, part: PartId, space: str, timeout_s: float) -> Wait:
        """The end of an instance."""
        return self._change(part, SpaceChange(SpaceAct.END, space), f"end of the space {space!r}", timeout_s)

    def set_data(self, part: PartId, space: str, data: Items, timeout_s: float) -> Wait:
        """Items of the data of a space."""
        change = SpaceChange(SpaceAct.SET_DATA, space, data=data)
        return self._change(part, change, f"new data of the space {space!r}", timeout_s)

    def _change(self, part: PartId, change: SpaceChange, what: str, timeout_s: float) -> Wait:
        self._check_room()
        wait = self._awaiting.promise(part, what, timeout_s)
        self._add(change, partial(self._on_done, part, wait))
        return wait

    def _check_room(self) -> None:
        if len(self._waiting) >= WAITING_MAX:
            raise UsageError(f"{WAITING_MAX} changes of spaces wait for the CellAppMgr already: make fewer at a time")

    def _add(self, change: SpaceChange, done: Done) -> None:
        self._waiting.append((change, done))

    def _on_created(self, wait: SpaceWait, task: Task, outcome: SpaceOutcome) -> None:
        if outcome.problem:
            self._awaiting.keep(wait, None, SpaceFailed(f"{wait}: {outcome.problem}"))
        elif self._awaiting.keep(wait, outcome.space):
            self._made.append(_Made(outcome.space, wait, task))
        else:
            self._end_unnamed(wait, outcome.space)

    def _on_done(self, part: PartId, wait: Wait, outcome: SpaceOutcome) -> None:
        problem = SpaceFailed(f"{wait}: {outcome.problem}") if outcome.problem else None
        if not self._awaiting.keep(wait, None, problem) and problem is not None:
            self._host.log(LogEvent.SPACE_NOT_CHANGED, entity=str(part), why=str(problem))

    def _end_unnamed(self, wait: Wait, space: str) -> None:
        """No code has the name of this instance."""
        self._host.log(LogEvent.SPACE_UNUSED, space=space, entity=str(wait.part))
        self._add(SpaceChange(SpaceAct.END, space), lambda outcome: None)

    # The request that is under way.

    def on_tick(self) -> None:
        """Sends what is due, and ends instances without a name."""
        open_, self._made = self._made, []
        for made in open_:
            if made.wait.is_taken_over:
                continue
            if self._awaiting.is_open(made.task):
                self._made.append(made)
            else:
                self._end_unnamed(made.wait, made.space)
        if self._again_at is not None and self._host.now >= self._again_at:
            self._send()
        elif not self._under_way and self._waiting:
            count = min(TOGETHER_MAX, len(self._waiting))
            self._under_way = [self._waiting.popleft() for _ in range(count)]
            self._send()

    def _send(self) -> None:
        manager = self._manager()
        if manager is None:
            self._send_later()
            return
        self._again_at = None
        self._requests.ask(
            manager,
            SpaceChanges(self._first, tuple(change for change, _ in self._under_way)),
            timeout_s=ANSWER_S,
            then=self._on_answer,
            failed=self._on_failure,
        )

    def _send_later(self) -> None:
        self._again_at = self._host.now + AGAIN_S

    def _on_failure(self, failure: Failure, why: str) -> None:
        self._send_later()

    def _on_answer(self, answer: Message) -> None:
        if not isinstance(answer, SpaceChangesMade) or len(answer.outcomes) != len(self._under_way):
            self._host.log(LogEvent.SPACE_NOT_CHANGED, entity="", why=f"the CellAppMgr answered {shown(answer)}")
            self._send_later()
            return
        done, self._under_way = self._under_way, []
        self._first += len(done)
        for (_, on_outcome), outcome in zip(done, answer.outcomes, strict=True):
            on_outcome(outcome)


# Checks of what a game passes.


def kind_of(name: object) -> str:
    """The part of the name of an instance that the game chooses."""
    plain = text(name, "create_space: name", longest=KIND_MAX)
    if not plain or INSTANCE_MARK in plain:
        raise UsageError(f"create_space: name is text without {INSTANCE_MARK!r}, and not empty, not {shown(name)}")
    return plain


def bounds_of(bounds: object) -> Bounds:
    """The bounds of an instance."""
    parts = list(bounds) if isinstance(bounds, Iterable) and not isinstance(bounds, str | bytes) else []
    if len(parts) != 4:
        raise UsageError(
            f"create_space: bounds are four numbers, least x, least z, greatest x, greatest z, not {shown(bounds)}"
        )
    x0, z0, x1, z1 = (number(each, "create_space: bounds", least=-PLACE_MAX, most=PLACE_MAX) for each in parts)
    if not (x0 < x1 and z0 < z1):
        raise UsageError(f"create_space: bounds {(x0, z0, x1, z1)} are empty: give least x, least z, greatest x and z")
    return x0, z0, x1, z1


def data_of(data: object, method: str) -> Items:
    """Items of the data of a space, with encoded values."""
    if not isinstance(data, Mapping):
        raise UsageError(f"{method}: data is a dict of texts and plain values, not {shown(data)}")
    if len(data) > DATA_KEYS_MAX:
        raise UsageError(f"{method}: data has {len(data)} keys, and a space at most {DATA_KEYS_MAX}")
    items = tuple((text(key, f"{method}: data, a key,", longest=KIND_MAX), _encoded(data[key], method)) for key in data)
    size = sum(len(key.encode()) + len(value) for key, value in items)
    if size > DATA_BYTES_MAX:
        raise UsageError(f"{method}: data has {size} bytes, and that of a space at most {DATA_BYTES_MAX}")
    return items


def _encoded(value: object, method: str) -> bytes:
    try:
        if isinstance(value, Opaque):
            raise ValueRejected("expected plain data, got foreign bytes")
        return encode_plain(value)
    except ValueRejected as problem:
        raise UsageError(f"{method}: data, a value: {problem}") from None


def instance_name(space: object, method: str) -> str:
    """The name of an instance, as `create_space` gave it."""
    plain = text(space, f"{method}: space", longest=NAME_MAX)
    if not is_instance_name(plain):
        raise UsageError(f"{method}: space {shown(plain)} was not made by create_space: only such a space can be ended")
    return plain
