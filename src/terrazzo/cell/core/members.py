"""Which CellApps were part of a space and are no longer: nothing may be sent there for that space.

A CellApp is part of a space while it has a cell in the tree, or while it is retiring. One that has left may drop the
space as soon as all others have confirmed the tree without it (`cell/ground.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from terrazzo.cell.core.space import CellSpace
from terrazzo.wire.ids import AppId


class FormerMembers:
    """The former members of each space, as one CellApp has seen them leave."""

    def __init__(self, spaces: Mapping[int, CellSpace]) -> None:
        self._spaces = spaces
        self.apps: dict[int, dict[AppId, bool]] = {}
        """By space; True: this CellApp has nothing there any more."""

    def note(self, space: CellSpace, before: Iterable[AppId]) -> None:
        """A space has a new tree; `before`: the members, and apps with ghosts, of the time before."""
        now = space.members()
        former = self.apps.setdefault(space.id, {})
        former.update(dict.fromkeys((app for app in before if app not in now), False))
        for app in now:
            former.pop(app, None)

    def of(self, space: int) -> dict[AppId, bool]:
        """The former members of a space; True: this CellApp has nothing there any more."""
        return self.apps.get(space, {})

    def has_left(self, space: int, app: AppId, version: int | None = None) -> bool:
        """Whether a CellApp was part of a space and is no longer: nothing of ours may go there. `version`: of a tree
        in which it was; it may have left before this CellApp became a part of the space."""
        if app in self.of(space):
            return True
        known = self._spaces.get(space)
        is_newer = known is not None and version is not None and known.tree is not None and version <= known.version
        return known is not None and is_newer and app not in known.members()

    def forget(self, space: int) -> None:
        """This CellApp has left the space itself."""
        self.apps.pop(space, None)
