"""A witness and its sight, in both forms."""

import pytest

from tests.speed.forms import FORMS
from tests.speed.sight_world import World


@pytest.fixture(params=FORMS)
def world(request):
    return World(request.param)
