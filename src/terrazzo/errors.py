"""Every error the engine raises on purpose, in one tree.

    TerrazzoError
    ├── UsageError              the caller's fault: raised at once, with what to do instead
    │   ├── DefinitionError     entity definitions do not hold; carries every Problem found, with file and line
    │   ├── ValueRejected       a value does not fit its declared type (also a ValueError)
    │   ├── CopyRefused         code tried to change or use another entity, of which there is only a view here
    │   ├── HeldElsewhere       a property was read or assigned on a part that does not hold it (also an AttributeError)
    │   ├── OwnershipError      a value that belongs to one owner was given to a second
    │   └── ChannelFull         more was sent to one part than its channel may hold (`wire.entity.channel`)
    ├── CallFailed              an awaited call brings no result; raised in the game's code that awaits it
    │   ├── CallTimeout         no answer in time (also a TimeoutError)
    │   ├── CallUndelivered     it was not and will not be delivered
    │   ├── CallRaised          the method that was called raised an exception; the text has it
    │   ├── NameTaken           another base has the name that was to be registered
    │   ├── CreationFailed      an entity was not created; the text has the reason
    │   ├── SpaceFailed         a space was not made or changed; the text has the reason
    │   ├── StoredFailed        a stored entity was not loaded or deleted; the text has the reason
    │   ├── SaveFailed          an entity cannot be saved as it is; the text has the reason
    │   ├── EntityMoved         the entity of the waiting method leaves this cell: the method ends here
    │   └── EntityGone          the entity of the waiting method is being destroyed
    └── PeerError               the sender's fault: counted and refused, never passed on to the game
        └── DecodeError         bytes that do not decode; the text has the offset and the reason (also a ValueError)

What comes from outside raises a PeerError inside the part that reads it, and no further. A broken invariant of our own
is an AssertionError and stops the process. A game's exception is confined to its entity.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass


def printable(text: str) -> str:
    """The same text, with lone surrogates spelled out: it can be written, encoded and sent."""
    return text.encode("utf-8", "backslashreplace").decode()


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHOWN_MAX = 200


def shown(value: object) -> str:
    """What was given, for the text of an error: short, whatever it is and whatever its `__repr__` does."""
    try:
        return printable(_SHORT.repr(value)[:_SHOWN_MAX])
    except Exception:  # also an int of thousands of digits
        return "what cannot be shown"


class TerrazzoError(Exception):
    """Root of the tree."""


class UsageError(TerrazzoError):
    """The engine was used wrongly; the text states what to do instead."""


class ValueRejected(UsageError, ValueError):
    """A value does not fit the type declared for it. `where` names the place, `problem` what was expected and given."""

    def __init__(self, problem: str, where: str = "") -> None:
        self.problem = problem
        self.where = where
        super().__init__(f"{where}: {problem}" if where else problem)

    def inside(self, outer: str) -> ValueRejected:
        """The same, seen from one level further out: `.count` inside `Avatar.bag[2]`."""
        return ValueRejected(self.problem, outer + self.where)


class CopyRefused(UsageError):
    """Code tried to change or use an entity of which it has only a view: only the entity's own code may do that."""


class HeldElsewhere(UsageError, AttributeError):
    """A property was read or assigned on a part that does not hold it; the text names the part that does."""


class OwnershipError(UsageError):
    """A list, record or user value that already belongs somewhere was put in a second place."""


@dataclass(frozen=True)
class Problem:
    """One mistake in a definition: where, of which kind, and what to do about it. Line 0: it is of the whole file."""

    file: str
    line: int
    kind: str
    message: str
    tag: str | None = None

    @property
    def place(self) -> str:
        """Where, in the form that editors can jump to."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}: {self.message}"


class DefinitionError(UsageError):
    """Entity definitions have mistakes; `problems` lists all of them."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        count = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        super().__init__("\n".join([f"{count} in the definitions:", *(f"  {problem}" for problem in problems)]))


class CallFailed(TerrazzoError):
    """An awaited call brings no result."""


class CallTimeout(CallFailed, TimeoutError):
    """No answer in time. The call may have arrived, may still arrive, or may be lost."""


class CallUndelivered(CallFailed):
    """The call was not and will not be delivered: the entity, or that part of it, is no more."""


class CallRaised(CallFailed):
    """The method that was called raised something, or gave back what it has not declared."""


class NameTaken(CallFailed):
    """A name was not registered: another base has it; the text has the reason."""


class CreationFailed(CallFailed):
    """An entity that the game wanted to create does not exist; the text has the reason."""


class SpaceFailed(CallFailed):
    """A space was not made or changed; the text has the reason."""


class StoredFailed(CallFailed):
    """A stored entity that the game wanted to load or delete was not; the text has the reason."""


class SaveFailed(CallFailed):
    """The values of an entity cannot be saved as they are; the text has the reason."""


class EntityMoved(CallFailed):
    """The entity of the waiting method leaves this cell, and its waiting methods end here. The call goes on."""


class EntityGone(CallFailed):
    """The entity of the waiting method is being destroyed."""


class PeerError(TerrazzoError):
    """Another process or a client sent what cannot be accepted."""


class DecodeError(PeerError, ValueError):
    """Bytes that are not an encoding of what they should be."""

    def __init__(self, message: str, offset: int = 0) -> None:
        self.offset = offset
        super().__init__(f"{message} (at byte {offset})")
