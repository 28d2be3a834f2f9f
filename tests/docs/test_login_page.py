"""docs/login.md has every code of a refusal with its sentence, and every code that a client takes from its channel."""

from __future__ import annotations

import re
from pathlib import Path

from terrazzo.wire.client.limits import Reason
from terrazzo.wire.login_refusals import LoginRefusal

PAGE = (Path(__file__).parent.parent.parent / "docs" / "login.md").read_text()
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE))
OPENING = {
    Reason.NO_ANSWER,
    Reason.PATH_LOST,
    Reason.SERVER_FULL,
    Reason.BANNED,
    Reason.WRONG_VERSION,
    Reason.WRONG_SUITE,
}


def test_page_has_every_code_with_its_sentence():
    own = {each.value: each.sentence.replace("{}", "…") for each in LoginRefusal}
    assert {code: ROWS.get(code) for code in own} == own
    assert ROWS.keys() == own.keys() | {each.name.lower() for each in OPENING}


def test_codes_of_the_channel_and_of_the_login_server_differ():
    assert not {each.value for each in LoginRefusal} & {each.name.lower() for each in Reason}
