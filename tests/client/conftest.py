"""What several files of tests of the client share."""

import pytest

from terrazzo.wire.client import WEBSOCKET, Suite
from tests.client.play import Play


@pytest.fixture(params=["udp", "websocket"])
def play(request):
    if request.param == "udp":
        return Play()
    return Play(WEBSOCKET, Suite.AES_256_GCM)
