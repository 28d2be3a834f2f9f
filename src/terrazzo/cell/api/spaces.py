"""What an entity can do about spaces: make instances, end them, set the data of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Any

from terrazzo.cell.api.own import Own
from terrazzo.game import DEFAULT_BOUNDS
from terrazzo.schema.arguments import number
from terrazzo.schema.plaindata import decode_plain
from terrazzo.sync.spaces import NO_DATA, SPACE_S, bounds_of, data_of, instance_name, kind_of


class SpaceActs(Own):
    """The part of the API that changes spaces."""

    @property
    def space_data(self) -> dict[str, Any]:
        """The data of its space, as this cell has it: a copy. `set_space_data` changes it."""
        return {key: decode_plain(item.value) for key, item in self._body.space.data.items()}

    def set_space_data(self, data: Mapping[str, Any], *, timeout: float = SPACE_S) -> Awaitable[None]:
        """Sets items of the data of its space, together: `self.set_space_data({"gate": "open"})`. Keys are texts,
        values plain data, as of a PYTHON property. All cells and clients of the space get the new values a moment
        later, in one order (`on_space_data`); this one, too. The other items stay; none can be removed, but a value may
        be None. A space has at most 64 keys, and 8192 bytes of them.

        It need not be awaited; awaited, it raises SpaceFailed with the reason why nothing was set."""
        body = self._own("set the data of its space").body
        timeout_s = number(timeout, "set_space_data: timeout, in seconds,", above=0)
        return body.core.space_asker.set_data(body.part, body.space.name, data_of(data, "set_space_data"), timeout_s)

    def create_space(
        self,
        name: str,
        *,
        bounds: Iterable[float] = DEFAULT_BOUNDS,
        data: Mapping[str, Any] = NO_DATA,
        timeout: float = SPACE_S,
    ) -> Awaitable[str]:
        """Makes an instance: a space of its own for a party, say, with these bounds (least x, least z, greatest x,
        greatest z). `hall = await self.create_space("hall")` gives the name of the new space, "hall#…", which no other
        one ever has: `teleport`, `create` and `create_cell` of a base take it, at once; entering waits until the space
        is there. It is there until `end_space`, or until the cluster is stopped.

        `data` is what the space has from the beginning (`set_space_data`). Raises SpaceFailed with the reason, or
        CallTimeout after `timeout` seconds. When the method ends before it has the name, the space is ended; so it is
        when this entity moves to another cell meanwhile (EntityMoved)."""
        core, part = self._body.core, self._own("make a space").body.part
        timeout_s = number(timeout, "create_space: timeout, in seconds,", above=0)
        return core.space_asker.create(part, kind_of(name), bounds_of(bounds), data_of(data, "create_space"), timeout_s)

    def end_space(self, space: str, *, timeout: float = SPACE_S) -> Awaitable[None]:
        """Ends an instance, by the name that `create_space` gave. What is in it is destroyed: bases get on_cell_lost,
        and entities without a base part end. Nothing comes in any more: a teleport that is under way fails, and the
        entity stays where it is. The end of a space that has been ended already changes nothing.

        It need not be awaited; awaited, it raises SpaceFailed when there is nothing that could be ended."""
        core, part = self._body.core, self._own("end a space").body.part
        timeout_s = number(timeout, "end_space: timeout, in seconds,", above=0)
        return core.space_asker.end(part, instance_name(space, "end_space"), timeout_s)
