"""Broken forms of the entity channel that only show as delays: every call still arrives, once and in order, because the
resend timer repairs the loss. In worlds without faults and with short paths, a call that waits for that timer is a
failure (`scenarios/seamless/latency.py`)."""

from __future__ import annotations

from collections.abc import Callable

from terrazzo.base.baseapp import BaseApp
from terrazzo.cell.cellapp import CellApp
from terrazzo.cluster.app import App
from terrazzo.sim.cell_mutations import instead
from terrazzo.wire.entity.messages import Frame, Frames, frames_of
from terrazzo.wire.ids import AppId, PartId
from terrazzo.wire.messages import Message

Homed = BaseApp | CellApp


def _loses_the_first(app: Homed) -> None:
    """The first call of each part to another is lost."""
    lost: set[tuple[PartId, PartId]] = set()

    def send(before: Callable[[AppId, Message], int], peer: AppId, message: Message) -> int:
        if isinstance(message, Frames):
            size = 0
            for frame in frames_of(message, app.me):
                size += send(before, peer, frame)
            return size
        is_call = isinstance(message, Frame) and message.stream is not None and bool(message.stream.payloads)
        if isinstance(message, Frame) and is_call and (message.source, message.to) not in lost:
            lost.add((message.source, message.to))
            return 0
        return before(peer, message)

    instead(app.outbox, "send", send)


def _of(kind: type[Homed], harm: Callable[[Homed], None]) -> Callable[[App], None]:
    def apply(app: App) -> None:
        if isinstance(app, kind):
            harm(app)

    return apply


LATENCY_MUTATIONS: dict[str, Callable[[App], None]] = {
    "lose-first-call-of-cells": _of(CellApp, _loses_the_first),
    "lose-first-call-of-bases": _of(BaseApp, _loses_the_first),
}
