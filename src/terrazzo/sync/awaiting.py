"""Awaited calls: game methods that wait for the result of another entity's method, for a while (`sleep`), or for
something that the engine does for them (`promise`). One `Awaiting` for each app.

    async def weigh(self, other: Ref) -> None:
        try:
            strength = await self.ref(other).tell_strength(timeout=2.0)
        except CallFailed as problem:
            ...

    caller                                    callee
      ask() ── CallCell(question 7) ────────▶   runs the method, plain or async
      the task stops at its await                 │ result, or its exception
      on_answer() ◀── Answer(7, values) ──────────┘
      the task goes on

There is no event loop: a **task** is one run of an `async def` of the game, and `Awaiting` drives it, at the places of
the tick where game code runs. A task goes on

    with its answer        when the answer is taken from the mail: in order with the calls of the same entity
    after its sleep        in the first tick in which the time is over
    with what was promised in the next tick after the engine has settled it, with a value or an error
    CallTimeout            in the tick in which its time is over; a later answer is counted and dropped
    CallUndelivered        in the next tick, when the callee is gone
    CallRaised             when the answer is an exception of the callee's method; it has the text of the exception
    EntityMoved            when the entity that waits leaves its cell, before it is packed: changes that it makes then
                           are packed with it, so it can leave a note for `on_entered_cell` in a property. The object
                           that waits stays in this process, so the method ends here in any case; the call that it
                           made goes on
    EntityGone             likewise, when the entity is being destroyed

A task that catches EntityMoved or EntityGone and waits again is closed. So are tasks that a method begins while it
ends, after ENDINGS_MAX rounds. A task never migrates, and no task waits for ever. A caller that waited for the method
of an entity that moved gets CallRaised.

A call asks for an answer only if it is made inside an `async def`, and the method is declared with a result: then it
returns a `CallReply`, at once, so that several calls can be under way before the first is awaited. In plain code it
returns None, and an undelivered call comes back as `on_call_failed`, as without awaiting.

**Numbers.** The number of a question includes the version of the asking part's mailbox: so no two homes and no two
lives of an entity use the same number, and an answer that arrives at a later home is recognised as late.

    life, 7 bits · moves, 32 bits · serial of this app, 24 bits, never 0

Each of the three wraps around after its last value: no question is open that long. The number of an open question is
not used for another one.
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
from terrazzo.wire.log_events import LogEvent
from terrazzo.wire.pairs.base_cell import Answer
from terrazzo.wire.schedule import Schedule

REPLIES_MAX = 256
"""Answers that one part can wait for at a time."""
ERROR_MAX = 1000
"""Characters of the text of an error."""
ENDINGS_MAX = 8
"""Rounds in which ending methods may begin others of the same part."""
SERIAL_BITS = 24
_VERSION_BITS = 39

Run = Callable[..., Any]
"""Runs game code of a part: the part, a description for reports, function, arguments."""
MethodDone = Callable[[Any, Exception | None], None]
"""Called at the end of a method with its result, or its exception."""


class CalledPart(Protocol):
    """An entity with methods that clients call."""

    caller: int
    """The entity of the client on behalf of which code runs; otherwise 0."""


class Wait:
    """What an `async def` of a part waits for: to be awaited once, in the method that got it."""

    __slots__ = ("due", "is_done", "is_taken", "number", "part", "problem", "task", "value", "what", "why")

    def __init__(self, part: PartId, number: int, what: str, due: float) -> None:
        self.part = part
        self.number = number
        self.what = what
        self.why = ""
        """The reason why there is no answer yet, as far as it is known."""
        self.due = due
        self.task: Task | None = None
        self.is_done = False
        self.is_taken = False
        self.value: Any = None
        self.problem: Exception | None = None

    def time_out(self) -> None:
        """Its time is over."""
        self.problem = CallTimeout(f"{self}: no answer in time" + (f": {self.why}" if self.why else ""))

    def __await__(self) -> Generator[Wait, None, Any]:
        if self.is_taken:
            raise UsageError(f"{self}: an answer can be awaited once; keep in a variable what it brings")
        self.is_taken = True
        if not self.is_done:
            yield self
        value, problem = self.value, self.problem
        self.value = self.problem = None
        if problem is not None:
            raise problem
        return value

    def __str__(self) -> str:
        return self.what


class Sleep(Wait):
    """A time to wait."""

    __slots__ = ()

    def time_out(self) -> None:
        """The time is over, as it should be."""


class CallReply(Wait):
    """The answer to one call."""

    __slots__ = ("method", "to")

    def __init__(self, part: PartId, number: int, to: PartId, method: Method, due: float) -> None:
        super().__init__(part, number, f"{method.name} of {to}", due)
        self.to = to
        self.method = method


class Task:
    """One run of an `async def` of the game."""

    __slots__ = ("called", "caller", "coroutine", "done", "part", "what")

    def __init__(
        self,
        part: PartId,
        what: str,
        coroutine: Coroutine[Any, Any, Any],
        done: MethodDone | None,
        called: CalledPart | None,
    ) -> None:
        self.part = part
        self.what = what
        self.coroutine = coroutine
        self.done = done
        self.called = called
        self.caller = 0 if called is None else called.caller
        """The caller at the time of the call stays the caller for the whole run."""

    def step(self, problem: Exception | None) -> object:
        """Runs until it waits again, on behalf of its caller; returns what it waits for."""
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

    def __init__(self, host: Host, run: Run, called: Callable[[PartId], CalledPart] | None = None) -> None:
        self.current: Task | None = None
        """The task that runs now."""
        self._host = host
        self._run = run
        self._called = called
        """Returns the part that is about to run, in apps where clients call parts."""
        self._tasks: dict[PartId, dict[Task, None]] = {}
        self._waits: dict[PartId, dict[int, Wait]] = {}
        """By number: that of a question; what is no question has one below zero."""
        self._timeouts: Schedule[Wait] = Schedule(lambda wait: wait.is_done)
        self._done: list[Wait] = []
        """What was settled without its task going on at once."""
        self._closing: PartId | None = None
        """The part with the methods that are being closed."""
        self._asked = 0
        self._others = 0

    def __len__(self) -> int:
        """The number of waiting tasks."""
        return sum(len(tasks) for tasks in self._tasks.values())

    # Asking.

    def ask(self, part: PartId, version: int, to: PartId, method: Method, timeout_s: float) -> CallReply | None:
        """Called before a call is sent. Returns what can be awaited, with the number of the question; None when no
        answer is wanted."""
        if not self.can_wait(part) or not method.returns:
            return None
        number = self._draw(version, self._room(part))
        reply = CallReply(part, number, to, method, self._host.now + timeout_s)
        self._begin_wait(reply)
        return reply

    def can_wait(self, part: PartId) -> bool:
        """Whether an `async def` of this part runs now."""
        return self.current is not None and self.current.part == part

    def sleep(self, part: PartId, seconds: float) -> Sleep:
        """Something to await that takes so many seconds."""
        if not self.can_wait(part):
            raise UsageError("sleep: only an async def can wait: write await self.sleep(…) there; elsewhere use timer")
        sleep = Sleep(part, self._draw_other(part), "sleep", self._host.now + seconds)
        self._begin_wait(sleep)
        return sleep

    def is_open(self, task: Task) -> bool:
        """Whether this task has not ended."""
        return task in self._tasks.get(task.part, {})

    def promise(self, part: PartId, what: str, timeout_s: float, kind: type[Wait] = Wait) -> Wait:
        """Something to await that the engine settles with `keep`. Where no `async def` runs that could await it, it is
        settled at once, with an error for those who await it."""
        if self.can_wait(part):
            wait = kind(part, self._draw_other(part), what, self._host.now + timeout_s)
            self._begin_wait(wait)
        else:
            wait = kind(part, 0, what, self._host.now)
            wait.is_done = True
            wait.problem = UsageError(f"{what}: only the async def that asked for it can await it")
        return wait

    def keep(self, wait: Wait, value: Any, problem: Exception | None = None) -> bool:
        """A promise is kept, or `problem` is raised where it is awaited, in the next tick. False: it is over already,
        so that nothing waits for it."""
        if wait.is_done:
            return False
        wait.value, wait.problem = value, problem
        self._finish(wait)
        self._done.append(wait)
        return True

    def _room(self, part: PartId) -> dict[int, Wait]:
        waits = self._waits.get(part, {})
        if len(waits) >= REPLIES_MAX:
            raise UsageError(f"{part} waits for {REPLIES_MAX} answers already: await some before it asks for more")
        return waits

    def _begin_wait(self, wait: Wait) -> None:
        self._waits.setdefault(wait.part, {})[wait.number] = wait
        self._timeouts.add(wait.due, wait)

    def _draw_other(self, part: PartId) -> int:
        """A new number for what is no question."""
        self._room(part)
        self._others += 1
        return -self._others

    def _draw(self, version: int, replies: dict[int, Wait]) -> int:
        """A new number for a question of a part; `replies` are its open ones."""
        home = (version & (1 << _VERSION_BITS) - 1) << SERIAL_BITS
        while True:
            self._asked += 1
            number = home | self._asked % ((1 << SERIAL_BITS) - 1) + 1
            if number not in replies:
                return number

    def withdraw(self, reply: CallReply | None) -> None:
        """The call could not be sent: drops the open question."""
        if reply is not None:
            self._finish(reply)

    def on_answer(self, part: PartId, source: PartId, answer: Answer) -> bool:
        """An answer has come: the waiting task goes on at once; False when no task waits for it."""
        reply = self._waits.get(part, {}).get(answer.question)
        if not isinstance(reply, CallReply) or reply.to != source:
            return False
        try:
            if answer.error is not None:
                raise CallRaised(f"{reply}: {answer.error}")
            reply.value = reply.method.decode_result(answer.values)
        except CallRaised as problem:
            reply.problem = problem
        except DecodeError as problem:
            reply.problem = CallRaised(f"{reply}: its answer does not decode: {problem}")
        self._finish(reply)
        self._go_on(reply)
        return True

    def fail(self, part: PartId, question: int, problem: CallFailed) -> bool:
        """There will be no answer: the waiting task goes on in the next tick. False when there is no such question."""
        reply = self._waits.get(part, {}).get(question)
        if not isinstance(reply, CallReply):
            return False
        reply.problem = problem
        self._finish(reply)
        self._done.append(reply)
        return True

    def run(self) -> None:
        """Once a tick: goes on with tasks of failed questions, of kept promises, and of those with their time over."""
        settled, self._done = self._done, []
        for wait in self._timeouts.take(self._host.now):
            wait.time_out()
            self._finish(wait)
            settled.append(wait)
        for wait in settled:
            self._go_on(wait)

    def _finish(self, wait: Wait) -> None:
        wait.is_done = True
        waits = self._waits[wait.part]
        del waits[wait.number]
        if not waits:
            del self._waits[wait.part]

    def _go_on(self, wait: Wait) -> None:
        task, wait.task = wait.task, None
        if task is not None and task in self._tasks.get(task.part, {}):
            self._run(task.part, task.what, self._resume, task)

    # Running.

    def call(self, part: PartId, what: str, function: Callable[..., Any], args: list[Any], done: MethodDone) -> None:
        """Runs a method with a result that was asked for."""

        def whole() -> None:
            try:
                result = function(*args)
            except BaseException as problem:
                done(None, _to_raise(problem))
                raise
            if type(result) is CoroutineType:
                self.begin(part, what, result, done)
            else:
                done(result, None)

        self._run(part, what, whole)

    def begin(
        self, part: PartId, what: str, coroutine: Coroutine[Any, Any, Any], done: MethodDone | None = None
    ) -> None:
        """Runs a new task, of an `async def` of the game, until it first waits."""
        if part == self._closing:
            coroutine.close()
            self._host.log(
                LogEvent.GAME_ERROR, what=f"{part}, {what}", error="its entity ends: nothing can wait any more"
            )
            return
        task = Task(part, what, coroutine, done, None if self._called is None else self._called(part))
        self._tasks.setdefault(part, {})[task] = None
        self._run(part, what, self._resume, task)

    def _resume(self, task: Task, problem: Exception | None = None) -> None:
        """Goes on with a task, inside of game code; its exceptions are reported as those of game code."""
        before, self.current = self.current, task
        try:
            awaited = task.step(problem)
        except StopIteration as end:
            self._end(task, end.value, None)
        except (EntityMoved, EntityGone) as end:  # the expected end
            self._end(task, None, end)
        except BaseException as end:
            self._end(task, None, _to_raise(end))
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
        if isinstance(awaited, Wait) and awaited.part == task.part and awaited.task is None:
            awaited.task = task
        else:
            wrong = UsageError(
                "await takes the call of another entity that returns something, or self.sleep(…), each of them once"
            )
            self._resume(task, wrong)

    def _end(self, task: Task, result: Any, problem: Exception | None) -> None:
        tasks = self._tasks.get(task.part, {})
        tasks.pop(task, None)
        if not tasks:
            self._tasks.pop(task.part, None)
        if task.done is not None:
            task.done(result, problem)

    def end(self, part: PartId, problem: type[EntityMoved | EntityGone], why: str) -> None:
        """A part leaves, or ends: ends all its tasks here. The game's code may begin further tasks meanwhile."""
        for _ in range(ENDINGS_MAX):
            if part not in self._tasks:
                break
            for task in list(self._tasks[part]):
                if task in self._tasks.get(part, {}):
                    self._run(part, task.what, self._resume, task, problem(why))
        self.drop(part)

    def drop(self, part: PartId) -> None:
        """Closes all tasks of a part; they run no more code and begin no others."""
        before, self._closing = self._closing, part
        for task in self._tasks.pop(part, {}):
            self._run(part, task.what, task.coroutine.close)
        self._closing = before
        for wait in list(self._waits.get(part, {}).values()):
            self._finish(wait)


def _to_raise(problem: BaseException) -> Exception:
    """The exception of a method as its caller gets it: of `SystemExit` and the like only the text."""
    return problem if isinstance(problem, Exception) else UsageError(words_of(problem))


def answering(method: Method, question: int, send: Callable[[Answer], None]) -> MethodDone:
    """Sends the result of a method that was asked for; a result that is too long to be sent is an error."""

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
    """The answer to a call that has failed."""
    return Answer(question, b"", why[:ERROR_MAX])
