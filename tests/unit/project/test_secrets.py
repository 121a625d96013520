from __future__ import annotations

import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.project.secrets import MASK, SHORTEST, Redactor

SECRET = 'p@ss "w/örd\\'


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
    ],
)
def test_every_written_form_is_masked(written: str) -> None:
    assert Redactor([SECRET]).text(f"uri={written}&x=1") == f"uri={MASK}&x=1"


def test_bytes_of_the_environment_that_are_no_text_are_masked() -> None:
    assert Redactor(["key\udcff\udcfe"]).text("key\udcff\udcfe key%FF%FE") == f"{MASK} {MASK}"


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert Redactor(["hunter", "hunter2000"]).text("hunter2000 hunter") == f"{MASK} {MASK}"


def test_short_values_are_left_alone() -> None:
    assert Redactor(["", "a", "x" * (SHORTEST - 1)]).text("a xxx") == "a xxx"


def test_each_line_of_a_key_file_is_masked() -> None:
    redactor = Redactor(["-----BEGIN KEY-----\nMIIEabcdef\n  ghijklmn\n"])
    assert redactor.text("read MIIEabcdef and ghijklmn") == f"read {MASK} and {MASK}"


def test_data_is_masked_in_depth_and_keeps_its_shape() -> None:
    data = {"secret1": ["x secret1", ("secret1", 1, None, True)], "plain": {"k": 1.5}}
    assert Redactor(["secret1"]).data(data) == {MASK: [f"x {MASK}", (MASK, 1, None, True)], "plain": {"k": 1.5}}


@given(st.lists(st.text(min_size=SHORTEST).filter(lambda s: "*" not in s), min_size=1, max_size=5), st.text())
def test_no_secret_survives(secrets: list[str], text: str) -> None:
    redacted = Redactor(secrets).text(text.join(["", *secrets, ""]))
    # Masking joins what stood around it, so only the mask itself may complete a secret; ours have no asterisk.
    assert not any(secret in part for part in redacted.split(MASK) for secret in secrets)
