"""From where each player has logged in before: such attempts have budgets of their own, which strangers cannot use up.

Wrong passwords for one name from many addresses would else fill every queue that its owner has to pass. What is kept is
bounded: ADDRESSES_MAX for each name, NAMES_MAX names; the oldest is forgotten first. It ends with the process, and a
player that is forgotten is a stranger until the next login.
"""

from __future__ import annotations

from terrazzo.wire.addresses import subscriber

NAMES_MAX = 20_000
ADDRESSES_MAX = 4


class KnownAddresses:
    """The addresses of successful logins, by name."""

    def __init__(self, *, names_max: int = NAMES_MAX) -> None:
        self._names_max = names_max
        self._known: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def note(self, name: str, address: str) -> None:
        """A player of this name was let in."""
        key, place = name.casefold(), subscriber(address)
        former = [each for each in self._known.pop(key, ()) if each != place]
        self._known[key] = (*former, place)[-ADDRESSES_MAX:]
        if len(self._known) > self._names_max:
            del self._known[next(iter(self._known))]

    def has(self, name: str, address: str) -> bool:
        """Whether a player of this name was let in from there."""
        return subscriber(address) in self._known.get(name.casefold(), ())
