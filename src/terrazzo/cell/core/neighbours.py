"""Small numbers for the CellApps that have ghosts of the reals of one space: bits of the masks in `_speed/area`."""

from __future__ import annotations

from terrazzo.wire.ids import AppId

NEIGHBOURS_MAX = 64


class CellAppBits:
    """The bit of each CellApp, and for how many ghosts; a bit that is free is given to the next one."""

    __slots__ = ("_apps", "_bits", "_uses")

    def __init__(self) -> None:
        self._apps: dict[int, AppId] = {}
        self._bits: dict[AppId, int] = {}
        self._uses: dict[AppId, int] = {}

    def take(self, app: AppId) -> int | None:
        """The bit of an app, for one more ghost; None when all are taken."""
        bit = self._bits.get(app)
        if bit is None:
            bit = next((each for each in range(NEIGHBOURS_MAX) if each not in self._apps), None)
            if bit is None:
                return None
            self._apps[bit], self._bits[app], self._uses[app] = app, bit, 0
        self._uses[app] += 1
        return bit

    def give_back(self, app: AppId) -> None:
        """One ghost less."""
        self._uses[app] -= 1
        if not self._uses[app]:
            del self._apps[self._bits.pop(app)], self._uses[app]

    def app_of(self, bit: int) -> AppId:
        """The CellApp of a bit."""
        return self._apps[bit]

    def apps(self) -> list[AppId]:
        """All that have a bit."""
        return list(self._bits)

    def has(self, app: AppId) -> bool:
        """Whether a CellApp has a ghost."""
        return app in self._bits
