"""Looks up the base that has a name (`managers/names.py`), for the code of a base or cell part."""

from __future__ import annotations

from terrazzo.errors import CallUndelivered, UsageError
from terrazzo.schema.arguments import text
from terrazzo.schema.refs import Component, Ref
from terrazzo.sync.asking import Asker
from terrazzo.sync.awaiting import Awaiting, Wait
from terrazzo.wire.ids import PartId
from terrazzo.wire.messages import Message
from terrazzo.wire.pairs.names import FindName, NameFound

LOOKUP_S = 5.0
NAME_MAX = 200
"""Characters of a name."""


def name_of(name: object, argument: str) -> str:
    """A name that the game gave."""
    plain = text(name, argument, longest=NAME_MAX)
    if not plain:
        raise UsageError(f"{argument} is empty")
    return plain


class Lookup:
    """The lookups of one app."""

    def __init__(self, awaiting: Awaiting, asker: Asker) -> None:
        self._awaiting = awaiting
        self._asker = asker

    def find(self, part: PartId, name: str, timeout_s: float) -> Wait:
        """Gives the Ref of the base with this name, or None."""
        wait = self._awaiting.promise(part, f"lookup of the name {name!r}", timeout_s)

        def found(answer: Message) -> None:
            named = answer.named if isinstance(answer, NameFound) else None
            self._awaiting.keep(wait, None if named is None else Ref(named.entity, Component.BASE, named.type_id))

        def refused(why: str, is_certain: bool) -> None:
            self._awaiting.keep(wait, None, CallUndelivered(f"{wait}: {why}"))

        self._asker.ask(FindName(name), timeout_s, found, refused)
        return wait
