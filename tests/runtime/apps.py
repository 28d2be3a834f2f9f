"""Apps for the tests of links and driver: one that sends what it is given and records what it receives."""

import asyncio
from itertools import count

from terrazzo.cluster.links import LinkLimits
from terrazzo.runtime.driver import Driver
from terrazzo.runtime.links import PeerAddress, TcpPlace, UnixPlace
from terrazzo.wire.ids import AppId, AppKind
from terrazzo.wire.messages import Message, message
from terrazzo.wire.outbox import Outbox
from tests.runtime.support import Inbox

TICK_S = 0.005
QUICK = LinkLimits(heartbeat_s=0.02, silence_s=5.0, redial_s=0.01)


@message(900)
class Say(Message, frozen=True):
    number: int
    body: bytes = b""


class Parrot:
    """Records what it receives; `todo` are calls to make in the next tick."""

    def __init__(self, host):
        self.host = host
        self.outbox = Outbox()
        self.heard = Inbox()
        self.links = Inbox()
        self.ticks = 0
        self.todo = []
        self._ticked = Inbox()

    def on_message(self, source, message):
        self.heard.add((source, message))

    def on_link_up(self, peer):
        self.links.add(("up", peer))

    def on_link_lost(self, peer):
        self.links.add(("lost", peer))

    def on_tick(self):
        self.ticks += 1
        self._ticked.add(self.ticks)
        todo, self.todo = self.todo, []
        for act in todo:
            act()

    async def tick(self):
        await self._ticked.next()

    def say(self, peer, *messages):
        def send():
            for each in messages:
                self.outbox.send(peer, each)

        self.todo.append(send)


class Cluster:
    """Apps of one test: where their slots listen, and what they log."""

    def __init__(self, folder=None):
        self.places = {}
        self.logs = []
        self.drivers = []
        self._folder = folder
        self._paths = count(1)

    def log(self, event, /, **facts):
        self.logs.append((event, facts))

    def logged(self, event):
        return [facts for name, facts in self.logs if name == event]

    async def start(self, index, incarnation=1, factory=Parrot, **more):
        id = AppId(AppKind.CELL_APP, index, incarnation)
        driver = Driver(
            id,
            factory,
            **{
                "tick_s": TICK_S,
                "places": lambda peer: self.places.get(peer.slot),
                "seed": 1,
                "log": self.log,
                "link_limits": QUICK,
                **more,
            },
        )
        self.drivers.append(driver)
        driver.task = asyncio.create_task(driver.run())  # type: ignore[attr-defined]
        await self.listen(driver)
        return driver

    async def listen(self, driver):
        """Starts the driver; it is then what its slot's place leads to."""
        place: PeerAddress = TcpPlace("127.0.0.1", 0)
        if self._folder is not None:
            place = UnixPlace(str(self._folder / f"{next(self._paths)}.sock"))
        self.places[driver.id.slot] = (await driver.start([place]))[0]

    async def stop(self):
        for driver in self.drivers:
            driver.stop()
        return await asyncio.gather(*(driver.task for driver in self.drivers), return_exceptions=True)
