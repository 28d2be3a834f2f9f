"""Servers and clients of the client channel for the tests of its shells."""

import os
import time
from typing import Any

from terrazzo.wire.client import (
    UDP,
    ClientEndpoint,
    Closed,
    Connected,
    Received,
    ServerEndpoint,
    Settings,
    public_key,
)
from tests.runtime.support import Inbox

KEY = bytes(range(32))


def server_endpoint(transport=UDP, **settings):
    return ServerEndpoint(KEY, entropy=os.urandom, transport=transport, settings=Settings(**settings))


def client_endpoint(transport=UDP, **settings):
    return ClientEndpoint(
        public_key(KEY),
        entropy=os.urandom,
        now=time.monotonic(),
        transport=transport,
        settings=Settings(**settings),
        app_data=b"hi",
    )


class Owner:
    """Records an endpoint's events: "connected", then the messages, then the reason of the end."""

    def __init__(self, echo=False):
        self.inbox = Inbox()
        self.session: Any = None
        self._echo = echo

    def on_turn(self, events):
        for event in events:
            match event:
                case Connected(session, app_data):
                    self.session = session
                    self.inbox.add(("connected", app_data))
                case Received(session, messages):
                    for message in messages:
                        self.inbox.add(message)
                    if self._echo:
                        session.send_many(messages)
                case Closed(_, reason, _):
                    self.inbox.add(reason)
