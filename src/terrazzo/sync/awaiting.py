"""Awaited calls: game methods that wait for what another entity gives back. One `Awaiting` for each CellApp or BaseApp.

    async def weigh(self, other: Ref) -> None:
        try:
            strength = await self.ref(other).tell_strength(timeout=2.0)
        except CallFailed as problem:
            ...

    caller                                    callee
      ask() ── CallCell(question 7) ────────▶   runs the method, plain or async
      the task stops at its await                 │ result, or what it raised
      on_answer() ◀── Answer(7, values) ──────────┘
      the task goes on

There is no event loop: a **task** is one run of an `async def` of the game, and it is driven from here, at the places
of the tick where game code runs. It goes on

    with its answer        when the answer is taken from the mail: in order with the calls of the same entity
    CallTimeout            in the tick in which its time is over; what comes later is counted and dropped
    CallUndelivered        in the next tick, when the callee is gone
    CallRaised             as an answer: what the callee's method raised, in words
    EntityMoved            when the entity that waits leaves its cell, before it is packed: what it changes then goes
                           along, and so it can leave a note for `on_entered_cell` in a property. The object that waits
                           stays behind, so the method ends here in any case; the call that it made goes on
    EntityGone             likewise, when the entity is being destroyed

A task that catches EntityMoved or EntityGone and waits again is closed. So is one that is begun meanwhile, over and
over, by a method that ends. Nothing of a task migrates, and nothing waits for ever. A caller that waited for
the method of an entity that moved gets CallRaised.

A call asks for an answer only where it is made inside of an `async def`, and the method is declared to return
something: then it gives a `Reply`, at once, so that several calls can be under way before the first is awaited. In
plain code it gives None, and what is not delivered comes back as `on_call_failed`, as ever.

**Numbers.** A question bears the version of the asking part's mailbox: so no two homes and no two lives of an entity
ask under the same number, and an answer that comes to a later home is known to be late.

    life, 7 bits · moves, 32 bits · serial of this app, 24 bits, never 0

Each part of it begins again after its last: no question is waited for that long. A number that is waited for is not
given again.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from types import CoroutineType
from typing import Any, Protocol

from terrazzo.cluster.app import Host
from terrazzo.errors import CallFailed, CallRaised, CallTimeout, DecodeError, EntityGone, EntityMoved, UsageError
from terrazzo.schema.model import Method
from terrazzo.sync.gamecode import words_of
from terrazzo.wire.ids import PartId
from terrazzo.wire.pairs.base_cell import Answer
from terrazzo.wire.schedule import Schedule

REPLIES_MAX = 256
"""Answers that one part can wait for at a time."""
ERROR_MAX = 1000
"""Characters of what is told of an error."""
ENDINGS_MAX = 8
"""Rounds in which methods that end may begin others of the same part."""
SERIAL_BITS = 24
_VERSION_BITS = 39

Run = Callable[..., Any]
"""Runs game code of a part: the part, what it is for the report, function, arguments."""
Done = Callable[[Any, Exception | None], None]
"""Hears what a method has come to: its result, or what it raised."""


class Called(Protocol):
    """Who has methods that clients call."""

    caller: int
    """Whose client it was, while code runs on its behalf; else 0."""


class Reply:
    """The answer to one call: to be awaited once, in the method that made the call."""

    __slots__ = ("due", "is_settled", "is_taken", "method", "number", "part", "problem", "task", "to", "value")

    def __init__(self, part: PartId, number: int, to: PartId, method: Method, due: float) -> None:
        self.part = part
        self.number = number
        self.to = to
        self.method = method
        self.due = due
        self.task: Task | None = None
        self.is_settled = False
        self.is_taken = False
        self.value: Any = None
        self.problem: CallFailed | None = None

    def __await__(self) -> Generator[Reply, None, Any]:
        if self.is_taken:
            raise UsageError(f"{self}: an answer can be awaited once; keep in a variable what it brings")
        self.is_taken = True
        if not self.is_settled:
            yield self
        value, problem = self.value, self.problem
        self.value = self.problem = None
        if problem is not None:
            raise problem
        return value

    def __str__(self) -> str:
        return f"{self.method.name} of {self.to}"


class Task:
    """One run of an `async def` of the game."""

    __slots__ = ("called", "caller", "coroutine", "done", "part", "what")

    def __init__(
        self,
        part: PartId,
        what: str,
        coroutine: Coroutine[Any, Any, Any],
        done: Done | None,
        called: Called | None,
    ) -> None:
        self.part = part
        self.what = what
        self.coroutine = coroutine
        self.done = done
        self.called = called
        self.caller = 0 if called is None else called.caller
        """Whoever it was when the method was called is so for the whole of it."""

    def step(self, problem: Exception | None) -> object:
        """Runs on until it waits again, on behalf of its caller; gives what it waits for."""
        called, before = self.called, 0
        if called is not None:
            before, called.caller = called.caller, self.caller
        try:
            return self.coroutine.send(None) if problem is None else self.coroutine.throw(problem)
        finally:
            if called is not None:
                called.caller = before


class Awaiting:
    """All tasks of one app, and all answers that its parts wait for."""

    def __init__(self, host: Host, run: Run, called: Callable[[PartId], Called] | None = None) -> None:
        self.current: Task | None = None
        """Whose code runs now."""
        self._host = host
        self._run = run
        self._called = called
        """Finds the part whose code is about to run, where clients call parts."""
        self._tasks: dict[PartId, dict[Task, None]] = {}
        self._replies: dict[PartId, dict[int, Reply]] = {}
        self._timeouts: Schedule[Reply] = Schedule(lambda reply: reply.is_settled)
        self._failed: list[Reply] = []
        self._closing: PartId | None = None
        """The part with the methods that are being closed."""
        self._asked = 0

    def __len__(self) -> int:
        """How many tasks wait."""
        return sum(len(tasks) for tasks in self._tasks.values())

    # Asking.

    def ask(self, part: PartId, version: int, to: PartId, method: Method, timeout_s: float) -> Reply | None:
        """A call is about to be made: what can be awaited, and bears the number of the question; None when no answer is
        wanted."""
        if self.current is None or self.current.part != part or not method.returns:
            return None
        replies = self._replies.setdefault(part, {})
        if len(replies) >= REPLIES_MAX:
            raise UsageError(f"{part} waits for {REPLIES_MAX} answers already: await some before it asks for more")
        number = self._draw(version, replies)
        reply = replies[number] = Reply(part, number, to, method, self._host.now + timeout_s)
        self._timeouts.add(reply.due, reply)
        return reply

    def _draw(self, version: int, replies: dict[int, Reply]) -> int:
        """A number for a question of a part, which waits for these."""
        home = (version & (1 << _VERSION_BITS) - 1) << SERIAL_BITS
        while True:
            self._asked += 1
            number = home | self._asked % ((1 << SERIAL_BITS) - 1) + 1
            if number not in replies:
                return number

    def withdraw(self, reply: Reply | None) -> None:
        """The call could not be made: nothing is waited for."""
        if reply is not None:
            self._settle(reply)

    def on_answer(self, part: PartId, source: PartId, answer: Answer) -> bool:
        """An answer has come, and whoever waits for it goes on at once; False when nobody does."""
        reply = self._replies.get(part, {}).get(answer.question)
        if reply is None or reply.to != source:
            return False
        try:
            if answer.error is not None:
                raise CallRaised(f"{reply}: {answer.error}")
            reply.value = reply.method.decode_result(answer.values)
        except CallRaised as problem:
            reply.problem = problem
        except DecodeError as problem:
            reply.problem = CallRaised(f"{reply}: its answer does not decode: {problem}")
        self._settle(reply)
        self._go_on(reply)
        return True

    def fail(self, part: PartId, question: int, problem: CallFailed) -> bool:
        """There will be no answer: whoever waits goes on in the next tick. False when nobody asked that."""
        reply = self._replies.get(part, {}).get(question)
        if reply is None:
            return False
        reply.problem = problem
        self._settle(reply)
        self._failed.append(reply)
        return True

    def run(self) -> None:
        """Once a tick: what failed, and what comes too late."""
        failed, self._failed = self._failed, []
        for reply in self._timeouts.take(self._host.now):
            reply.problem = CallTimeout(f"{reply}: no answer in time")
            self._settle(reply)
            failed.append(reply)
        for reply in failed:
            self._go_on(reply)

    def _settle(self, reply: Reply) -> None:
        reply.is_settled = True
        replies = self._replies[reply.part]
        del replies[reply.number]
        if not replies:
            del self._replies[reply.part]

    def _go_on(self, reply: Reply) -> None:
        task, reply.task = reply.task, None
        if task is not None and task in self._tasks.get(task.part, {}):
            self._run(task.part, task.what, self._resume, task)

    # Running.

    def call(self, part: PartId, what: str, function: Callable[..., Any], args: list[Any], done: Done) -> None:
        """Runs a method whose result somebody wants to know."""

        def whole() -> None:
            try:
                result = function(*args)
            except BaseException as problem:
                done(None, _told(problem))
                raise
            if type(result) is CoroutineType:
                self.begin(part, what, result, done)
            else:
                done(result, None)

        self._run(part, what, whole)

    def begin(self, part: PartId, what: str, coroutine: Coroutine[Any, Any, Any], done: Done | None = None) -> None:
        """An `async def` of the game was called: it runs until it first waits."""
        if part == self._closing:
            coroutine.close()
            self._host.log("game error", what=f"{part}, {what}", error="its entity ends: nothing can wait any more")
            return
        task = Task(part, what, coroutine, done, None if self._called is None else self._called(part))
        self._tasks.setdefault(part, {})[task] = None
        self._run(part, what, self._resume, task)

    def _resume(self, task: Task, problem: Exception | None = None) -> None:
        """Goes on with a task, inside of game code: what it raises is for whoever reports that."""
        before, self.current = self.current, task
        try:
            awaited = task.step(problem)
        except StopIteration as end:
            self._end(task, end.value, None)
        except (EntityMoved, EntityGone) as end:  # that is how it is to end
            self._end(task, None, end)
        except BaseException as end:
            self._end(task, None, _told(end))
            raise
        else:
            self._wait(task, awaited, problem)
        finally:
            self.current = before

    def _wait(self, task: Task, awaited: object, problem: Exception | None) -> None:
        if problem is not None:
            try:
                task.coroutine.close()
            finally:
                self._end(task, None, problem)
            raise UsageError(f"{task.what} waits again after {type(problem).__name__}: it was ended")
        if isinstance(awaited, Reply) and awaited.part == task.part and awaited.task is None:
            awaited.task = task
        else:
            wrong = UsageError("await takes the call of another entity that returns something, and takes each once")
            self._resume(task, wrong)

    def _end(self, task: Task, result: Any, problem: Exception | None) -> None:
        tasks = self._tasks.get(task.part, {})
        tasks.pop(task, None)
        if not tasks:
            self._tasks.pop(task.part, None)
        if task.done is not None:
            task.done(result, problem)

    def end(self, part: PartId, problem: type[EntityMoved | EntityGone], why: str) -> None:
        """A part leaves, or ends: so does everything that waits here for its sake. What the game's code does meanwhile
        may begin more of it."""
        for _ in range(ENDINGS_MAX):
            if part not in self._tasks:
                break
            for task in list(self._tasks[part]):
                if task in self._tasks.get(part, {}):
                    self._run(part, task.what, self._resume, task, problem(why))
        self.drop(part)

    def drop(self, part: PartId) -> None:
        """Nothing waits for the sake of this part any more; what did is closed, and begins nothing."""
        before, self._closing = self._closing, part
        for task in self._tasks.pop(part, {}):
            self._run(part, task.what, task.coroutine.close)
        self._closing = before
        for reply in list(self._replies.get(part, {}).values()):
            self._settle(reply)


def _told(problem: BaseException) -> Exception:
    """What a method raised, for its caller: of `SystemExit` and its like the words."""
    return problem if isinstance(problem, Exception) else UsageError(words_of(problem))


def answering(method: Method, question: int, send: Callable[[Answer], None]) -> Done:
    """What becomes of a method whose result was asked for: it is sent. What is too long to be sent is an error."""

    def done(result: Any, problem: Exception | None) -> None:
        try:
            if problem is not None:
                raise problem
            send(Answer(question, method.encode_result(result)))
        except Exception as wrong:
            send(refusal(question, words_of(wrong)))
            if problem is None:
                raise

    return done


def refusal(question: int, why: str) -> Answer:
    """The answer to a call that came to nothing."""
    return Answer(question, b"", why[:ERROR_MAX])
