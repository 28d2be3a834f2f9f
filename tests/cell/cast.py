"""The peers of the CellApps: a host, a BaseApp that only carries, managers that answer."""

from __future__ import annotations

from terrazzo.cluster.cluster_app import ClusterApp
from terrazzo.schema.state import State
from terrazzo.wire.common import Request
from terrazzo.wire.entity.messages import Astray, Frame, Frames
from terrazzo.wire.entity.switchboard import Switchboard
from terrazzo.wire.ids import AppId, AppKind, EntityId, Part, PartId
from terrazzo.wire.messages import REGISTRY, Message
from terrazzo.wire.pairs.base_cell import (
    CallBase,
    CallCell,
    CellData,
    ClientUpdates,
    ClientWants,
    CreateReal,
    DestroyReal,
    RealCreated,
    SetWitness,
    ToClient,
    WantCellData,
)
from terrazzo.wire.pairs.base_cellmgr import Entry, FindEntry
from terrazzo.wire.pairs.basemgr_base import Home, Locate, Located
from terrazzo.wire.requests import Question
from terrazzo.world.bsp import BspTree
from tests.cell.plain import AVATAR
from tests.cell.screen import Screen
from tests.fake_host import FakeHost

BASE = AppId(AppKind.BASE_APP, 0, 1)
MANAGER = AppId(AppKind.CELL_APP_MGR, 0, 1)
BASE_MANAGER = AppId(AppKind.BASE_APP_MGR, 0, 1)
CELL_METHODS = {method.name: index for index, method in enumerate(AVATAR.cell_methods)}


class LandHost(FakeHost):
    """Time that all apps of a land share."""

    def words(self, event: str) -> list[dict[str, object]]:
        return [facts for each, facts in self.logged if each == event]


class FakeBaseApp(ClusterApp):
    """Carries the mail of bases and hands their clients what is theirs."""

    def __init__(self, host: FakeHost) -> None:
        super().__init__(BASE, host)
        self.switchboard = Switchboard(BASE, host, self.outbox, self)
        self.screens: dict[int, Screen] = {}
        self.witness: dict[int, int] = {}
        self.mail: dict[int, list[Message]] = {}
        self.refused: dict[int, str] = {}
        self.created: list[int] = []
        self.places: dict[int, list[bytes]] = {}
        self.on(Frame, self.switchboard.on_message)
        self.on(Frames, self.switchboard.on_message)
        self.on(Astray, self.switchboard.on_message)
        self.on(ClientUpdates, self._on_updates)

    def locate(self, part: PartId) -> None: ...
    def on_undelivered(self, source: PartId, to: PartId, payloads: list[bytes], reason: str) -> None: ...
    def on_ended(self, part: PartId) -> None: ...

    def create(self, app: AppId, entity: int, position, *, life: int = 1, space: int = 1, **values) -> None:
        state = State(AVATAR.cell_layout)
        for name, value in values.items():
            state[name] = value
        base = PartId(EntityId(entity), Part.BASE)
        if base not in self.switchboard.boxes:
            self.switchboard.create(base)
        self.mail.setdefault(entity, [])
        message = CreateReal(entity, AVATAR.type_id, space, position, (0.0, 0.0, 0.0), state.encode(), 0, life)

        def then(answer: Message) -> None:
            assert isinstance(answer, RealCreated)
            self.created.append(entity)
            cell = PartId(EntityId(entity), Part.CELL)
            self.switchboard.learn(cell, life << 32, app)
            self.switchboard.pin(base, cell)

        def failed(_why: object, words: str) -> None:
            self.refused[entity] = words

        self.requests.ask(app, message, timeout_s=60.0, then=then, failed=failed)

    def tell(self, entity: int, message: Message, to: int | None = None) -> None:
        source = PartId(EntityId(entity), Part.BASE)
        self.switchboard.send(source, PartId(EntityId(to or entity), Part.CELL), REGISTRY.encode(message))

    def call(self, entity: int, name: str, *args, caller: int = 0, to: int | None = None) -> None:
        method = AVATAR.cell_methods[CELL_METHODS[name]]
        self.tell(entity, CallCell(CELL_METHODS[name], method.encode_args(*args), caller), to)

    def attach(self, entity: int) -> Screen:
        self.witness[entity] = self.witness.get(entity, 0) + 1
        self.screens[entity] = Screen(entity)
        self.tell(entity, SetWitness(self.witness[entity], True))
        return self.screens[entity]

    def is_attached(self, entity: int) -> bool:
        box = self.switchboard.boxes.get(PartId(EntityId(entity), Part.BASE))
        return box is not None and not box.is_ending

    def detach(self, entity: int) -> None:
        self.tell(entity, SetWitness(self.witness[entity], False))

    def destroy(self, entity: int) -> None:
        self.tell(entity, DestroyReal())

    def want_data(self, entity: int) -> None:
        self.tell(entity, WantCellData())

    def data_of(self, entity: int) -> list[CellData]:
        return [each for each in self.mail[entity] if isinstance(each, CellData)]

    def calls_of(self, entity: int) -> list[CallBase]:
        return [each for each in self.mail[entity] if isinstance(each, CallBase)]

    def _on_updates(self, source: AppId, updates: ClientUpdates) -> None:
        for update in updates.read():
            if update.witness == self.witness.get(update.entity):
                self.places.setdefault(update.entity, []).extend(update.messages)
                for message in update.messages:
                    self.screens[update.entity].hear_places(message)

    def on_tick(self) -> None:
        super().on_tick()
        for part in list(self.switchboard.boxes):
            for _, payload in self.switchboard.take(part):
                message = REGISTRY.decode_nested(payload)
                if isinstance(message, ToClient):
                    if message.witness == self.witness[part.entity]:
                        for word in message.messages:
                            self.screens[part.entity].hear(word)
                else:
                    assert isinstance(message, Message)
                    self.mail[part.entity].append(message)
        for entity, screen in self.screens.items():
            wants, released = screen.answers()
            if (wants or released) and self.is_attached(entity):
                self.tell(entity, ClientWants(self.witness[entity], tuple(wants), tuple(released)))
        self.switchboard.on_tick()


class FakeManager(ClusterApp):
    """Both managers: they record what they receive, and answer which app covers a point, and where parts are."""

    def __init__(self, me: AppId, host: FakeHost, base: FakeBaseApp) -> None:
        super().__init__(me, host)
        self.heard: list[Message] = []
        self.trees: dict[str, tuple[int, BspTree]] = {}
        self._base = base
        self.answers(FindEntry, self._on_find_entry)
        self.answers(Locate, self._on_locate)

    def on_message(self, source: AppId, message: Message) -> None:
        if isinstance(message, Request):
            super().on_message(source, message)
        else:
            self.heard.append(message)

    def _on_find_entry(self, question: Question) -> None:
        message = question.message
        assert isinstance(message, FindEntry)
        if message.space not in self.trees:
            self.requests.refuse(question, f"there is no space {message.space}")
            return
        space, tree = self.trees[message.space]
        leaf = tree.leaf_at(message.x, message.z)
        assert leaf is not None
        self.requests.answer(question, Entry(space, leaf.app))

    def _on_locate(self, question: Question) -> None:
        message = question.message
        assert isinstance(message, Locate)
        base, cell = (PartId(EntityId(message.entity), part) for part in (Part.BASE, Part.CELL))
        place = self._base.switchboard.places.get(cell)
        box = self._base.switchboard.boxes.get(base)
        home = None
        if place is not None and place.app is not None and box is not None and cell in box.channels:
            home = Home(place.version, place.app)
        self.requests.answer(
            question,
            Located(None if box is None else Home(box.version, BASE), home),
        )
