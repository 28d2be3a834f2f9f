"""For all tests: none depends on how fast the machine is."""

import os

import pytest
from hypothesis import settings

from terrazzo.bench.postgres import missing
from tests.tools.dealing import deal
from tests.tools.postgres import Postgres

settings.register_profile("terrazzo", deadline=None)
settings.load_profile("terrazzo")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """In each worker of xdist, which all have the same list."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = deal(items, workers)


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL, for all tests of one worker."""
    if why := missing():
        pytest.skip(why)
    server = Postgres()
    yield server
    server.close()
