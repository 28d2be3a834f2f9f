"""The addresses from which each player has logged in before. Attempts from these have budgets of their own, which
attempts from other addresses cannot use up.

Without that, wrong passwords for one name from many addresses would fill every queue that the owner of the name has to
pass. The list is bounded: ADDRESSES_MAX for each name, NAMES_MAX names; the oldest is dropped first. It ends with the
process. A player that was dropped has no known address until the next login.
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
        """A player of this name has logged in from this address."""
        key, place = name.casefold(), subscriber(address)
        former = [each for each in self._known.pop(key, ()) if each != place]
        self._known[key] = (*former, place)[-ADDRESSES_MAX:]
        if len(self._known) > self._names_max:
            del self._known[next(iter(self._known))]

    def has(self, name: str, address: str) -> bool:
        """Whether a player of this name has logged in from this address before."""
        return subscriber(address) in self._known.get(name.casefold(), ())
