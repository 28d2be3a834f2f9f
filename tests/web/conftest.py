"""What several files of tests of the browser client share."""

import pytest

from tests.web.page import Page


@pytest.fixture
def page():
    made = Page()
    yield made
    made.close()
