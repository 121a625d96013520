from __future__ import annotations

import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.project.secrets import DISTINCTIVE, MASK, SHORTEST, Redactor, source_line

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


@pytest.mark.parametrize("secret", ["north", "postgres", "20240101", "pw-1"])
@pytest.mark.parametrize("text", ["orders-{}", "/lakes/{}/x", "{}ql://host", "x{}", "{}.orders", "1{}", "{}_2", "{}-a"])
def test_a_short_secret_a_word_or_a_number_does_not_mangle_names_and_paths(secret: str, text: str) -> None:
    assert Redactor([secret]).text(text.format(secret)) == text.format(secret)


@pytest.mark.parametrize("secret", ["north", "postgres", "20240101", "pw-1"])
@pytest.mark.parametrize("text", ["password={}", "user:{}@host", "'{}'", '"{}"', "is {}.", "{}", "k={},l", "({})"])
def test_a_short_secret_a_word_or_a_number_is_masked_where_it_stands_by_itself(secret: str, text: str) -> None:
    assert Redactor([secret]).text(text.format(secret)) == text.format(MASK)
    assert Redactor([secret]).finds(text.format(secret))


DISTINCT = st.text(min_size=DISTINCTIVE).filter(lambda s: "*" not in s and not s.isalpha() and not s.isdigit())


@given(st.lists(DISTINCT, min_size=1, max_size=5), st.text())
def test_no_secret_survives(secrets: list[str], text: str) -> None:
    redacted = Redactor(secrets).text(text.join(["", *secrets, ""]))
    # Masking joins what stood around it, so only the mask itself may complete a secret; ours have no asterisk.
    assert not any(secret in part for part in redacted.split(MASK) for secret in secrets)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at postgresql://u:pw@h/db, x", "at postgresql://u:***@h/db, x"),
        ("jdbc:postgresql://u:p%40w@h:5432/db", "jdbc:postgresql://u:***@h:5432/db"),
        ("postgresql://:pw@h/db", "postgresql://:***@h/db"),
        ("jdbc:postgresql://h/db?user=u&password=pw&ssl=on", "jdbc:postgresql://h/db?user=u&password=***&ssl=on"),
        ("a://u:1@h b://v:2@h", "a://u:***@h b://v:***@h"),
        ("postgresql://u:${env:PW}@h/db", "postgresql://u:${env:PW}@h/db"),
        ("postgresql://u@h:5432/db of org.postgresql.Driver@1f2e", None),
        ("dataos://lake:raw/trips?acl=rw by me@home", None),
        ("https://h:8080/@scope/package", None),
        ("SELECT '10:30', 'me@home'", None),
    ],
)
def test_a_password_in_a_url_needs_not_be_known_to_be_masked(text: str, shown: str | None) -> None:
    assert Redactor([]).text(text) == (shown or text)
    assert Redactor([]).data({"uri": [text]}) == {"uri": [shown or text]}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("metastore: postgresql://u:p/w@x y@h/db", "metastore: postgresql://u:***@h/db"),
        ("metastore: 'u:pw@h/db'", "metastore: 'u:***@h/db'"),
        ("metastore: postgresql://u:${env:PW}@h/db", None),
        ("metastore: postgresql://u@h:5432/db", None),
        ("  dataset: dataos://lake:raw/trips?acl=r   # ask me@home", None),
        ("  sql: SELECT '10:30', 'me@home'", None),
    ],
)
def test_a_line_of_a_file_is_shown_without_a_password_however_it_is_misspelt(line: str, shown: str | None) -> None:
    assert source_line(line) == (shown or line)
