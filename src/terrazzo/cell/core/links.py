"""The links of a CellApp with its peers: which are up, which are broken, and which manager is there."""

from __future__ import annotations

from terrazzo.cluster.app import Host
from terrazzo.wire.ids import AppId


class PeerLinks:
    """Which peers of one CellApp can be reached now; the links themselves are `cluster/links.py`."""

    def __init__(self, me: AppId, host: Host) -> None:
        self.manager: AppId | None = None
        """The CellAppMgr, while the link with it is up."""
        self.lost: set[AppId] = set()
        """Peers with a broken link."""
        self._me = me
        self._host = host
        self._up: set[AppId] = set()

    def up(self, peer: AppId) -> None:
        """A link is up."""
        self.lost.discard(peer)
        self._up.add(peer)

    def down(self, peer: AppId) -> None:
        """A link is broken."""
        self.lost.add(peer)
        self._up.discard(peer)
        if peer == self.manager:
            self.manager = None

    def reaches(self, peer: AppId) -> bool:
        """Whether a link with a CellApp is up; if not, it is joined. A real is sent only over a link that is up: until
        it has arrived, its timers do not run and it takes no calls."""
        if peer not in self._up and peer != self._me:
            self._host.join(peer)
            return False
        return True
