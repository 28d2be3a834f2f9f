"""What a new player may be called."""

from __future__ import annotations

import unicodedata

import pytest

from terrazzo.db.names import normal_name, scripts_of, why_not
from terrazzo.db.store import fold_name
from terrazzo.wire.login_refusals import LoginRefusal
from terrazzo.wire.pairs.login_db import LoggedOn
from tests.db.harness import LOGIN, Office


@pytest.mark.parametrize(
    "name",
    [
        "Ann", "ann-2", "x_X.ann", "O'Neil", "Sir Ann", "Änne", "Zoë", "Łukasz", "Nguyễn", "Ольга", "Ελένη", "עדה",
        "عائشة", "अदिति", "ஆதி", "สมชาย",
        "さくら", "サクラ2", "山田太郎", "山田 Taro", "김철수", "Kim 철수", "王Wang", "ㄅㄆ王",
        "ሰላም", "Ⅳ", "Ａｎｎ", "007", "Անի", "გია",
    ],
)  # fmt: skip
def test_names_of_the_world_are_fine(name):
    assert why_not(normal_name(name)) == ""


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("\u3164", "U+1160"), ("a\u2800b", "U+2800"), ("Ann\ufe0f", "U+FE0F"), ("A\u200dnn", "U+200D"),
        ("A\u00adnn", "U+00AD"), ("A\u034fnn", "U+034F"), ("\u202eAnn", "U+202E"), ("A\U000e0041nn", "U+E0041"),
        ("Ann😀", "U+1F600"), ("a/b", "U+002F"), ("<b>", "U+003C"), ("a\u2010b", "U+2010"), ("O\u2019Neil", "U+2019"),
        ("a\u115fb", "U+115F"), ("\ue000", "U+E000"), ("a\u0378", "U+0378"),
        ("Аnn", "mixes letters"), ("pаypal", "mixes letters"), ("Οlga", "mixes letters"), ("Ольгα", "mixes letters"),
        ("さ김", "mixes letters"), ("עדהАнна", "mixes letters"),
        ("1\u0662", "mixes digits"), ("a  b", "blank"), ("a\u00a0 b", "blank"), ("--", "no letter"), ("_", "no letter"),
        ("\u0301ann", "accents"), ("a b\u0301\u0301", "accents"), ("x\u0300\u0301\u0302\u0303\u0304", "accents"),
    ],
)  # fmt: skip
def test_what_is_invisible_or_looks_like_something_else_is_refused(name, why):
    assert why in why_not(normal_name(name))


def test_every_character_of_the_table_is_known_to_python_and_is_visible():
    allowed = [chr(code) for code in range(0x110000) if scripts_of(chr(code)) is not None]
    assert len(allowed) > 90_000
    odd = [each for each in allowed if unicodedata.category(each)[0] in "CZ" or not each.isprintable()]
    assert odd == []


def test_a_bad_name_is_refused_before_its_password_is_hashed_and_no_account_is_made():
    office = Office()
    number = office.log_on("A\u3164nn")
    office.ticks()
    assert str(office.answer(LOGIN, number)).startswith("A player cannot have this name: the character")
    assert office.database.accounts == {}


def test_a_new_account_has_the_normal_form_of_its_name():
    office = Office()
    office.arrive("Ｚｏｅ\u0308")
    assert [each.name for each in office.database.accounts.values()] == ["Zoë"]
    number = office.log_on("zoë", "wrong")
    office.ticks()
    assert office.answer(LOGIN, number) == LoginRefusal.WRONG.sentence


def test_an_account_with_a_name_that_is_refused_today_keeps_working():
    office = Office()
    office.arrive("Ann")
    office.leave()
    [account] = office.database.accounts.values()
    office.database.accounts = {fold_name("\u3164"): account._replace(name="\u3164")}
    number = office.log_on("\u3164")
    office.ticks()
    [(asked, place)] = office.placements()
    office.place(asked, place.entity)
    office.ticks(2)
    assert isinstance(office.answer(LOGIN, number), LoggedOn)


@pytest.mark.parametrize("name", ["\ufdfa" * 32, "\u3300" * 9])
def test_name_that_grows_beyond_the_limit_when_it_is_written_out_is_refused(name):
    assert len(name) <= 32
    assert "32 are the most" in why_not(normal_name(name))


def test_name_of_the_greatest_length_is_fine():
    assert why_not("a" * 32) == ""
    assert why_not(normal_name("\u3300" * 8)) == ""
