"""Console → any app: the view of the app (120–129)."""

from __future__ import annotations

from terrazzo.wire.messages import Message, message


@message(120, max_size=256)
class WantView(Message, frozen=True):
    """Request: the app's view of itself. Answered by View."""


@message(121)
class View(Message, frozen=True):
    """The answer of the app's `view()`, as JSON."""

    json: bytes
