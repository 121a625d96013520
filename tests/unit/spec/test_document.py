"""YAML is read safely, and every key and value knows its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import InvalidFiles, Position
from catchment.spec.document import read, read_text

TEXT = """\
name: taxi
workflow:
  dag:
    - name: one
      tags: [a, b]
"""


def codes(text: str) -> list[str]:
    with pytest.raises(InvalidFiles) as refused:
        read_text(text, "w.yaml")
    return [diagnostic.code for diagnostic in refused.value.diagnostics]


def test_values_are_plain() -> None:
    assert read_text(TEXT, "w.yaml").value == {
        "name": "taxi",
        "workflow": {"dag": [{"name": "one", "tags": ["a", "b"]}]},
    }


def test_keys_and_values_know_their_place() -> None:
    document = read_text(TEXT, "w.yaml")
    path: list[str | int] = ["workflow", "dag", 0, "tags"]
    assert document.key_where(path) == Position("w.yaml", 5, 7)
    assert document.where(path) == Position("w.yaml", 5, 13)
    assert document.where([*path, 1]) == Position("w.yaml", 5, 17)
    assert document.key_where(["workflow", "dag", 0]) == Position("w.yaml", 4, 7)


def test_the_place_of_what_is_not_there_is_the_nearest_above() -> None:
    assert read_text(TEXT, "w.yaml").where(["workflow", "dag", 7, "name"]) == Position("w.yaml", 4, 5)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("true", True), ("False", False), ("null", None), ("~", None), ("", None)),
        *(("on", "on"), ("off", "off"), ("yes", "yes"), ("No", "No"), ("y", "y")),
        *(("12", 12), ("-3", -3), ("007", 7), ("0x1F", 31), ("0o17", 15), ("1_000", "1_000"), ("12:30", "12:30")),
        *(("1.50", 1.5), (".5", 0.5), ("1e3", 1000.0), ("-.inf", float("-inf")), ("1.2.3", "1.2.3")),
        *(("2020-01-01", "2020-01-01"), ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z")),
        *(("'12'", "12"), ('"true"', "true"), ("!!str 12", "12"), ("=", "=")),
    ],
)
def test_scalars_do_not_surprise(written: str, value: object) -> None:
    found = read_text(f"a: {written}\n", "w.yaml").value["a"]
    assert found == value
    assert type(found) is type(value) or isinstance(found, (int, float))


def test_a_number_too_long_to_convert_stays_harmless() -> None:
    assert read_text(f"a: {'9' * 5000}\n", "w.yaml").value["a"] == float("inf")


def test_keys_are_text_as_written() -> None:
    assert read_text("on: 1\n1.50: 2\nnull: 3\n", "w.yaml").value == {"on": 1, "1.50": 2, "null": 3}


def test_aliases_and_merge_keys_are_resolved() -> None:
    text = "base: &base {a: 1, b: 2}\none:\n  <<: *base\n  b: 3\ntwo:\n  <<: [{a: 0}, *base]\nthree: *base\n"
    document = read_text(text, "w.yaml")
    assert document.value["one"] == {"a": 1, "b": 3}
    assert document.value["two"] == {"a": 0, "b": 2}
    assert document.value["three"] == {"a": 1, "b": 2}
    assert document.key_where(["one", "a"]) == Position("w.yaml", 1, 14)


def test_every_duplicate_key_is_told() -> None:
    assert codes("a: 1\na: 2\nb: {c: 1, c: 2}\n") == ["duplicate-key", "duplicate-key"]


def test_a_byte_order_mark_moves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_bytes(b"\xef\xbb\xbfname: taxi\n")
    document = read(file)
    assert document.value == {"name": "taxi"}
    assert document.where(["name"]) == Position(str(file), 1, 7)


def test_windows_line_ends_move_nothing() -> None:
    document = read_text("a: 1\r\nb:\r\n  c: 2\r\n", "w.yaml")
    assert document.value == {"a": 1, "b": {"c": 2}}
    assert document.where(["b", "c"]) == Position("w.yaml", 3, 6)


def test_columns_count_characters_not_bytes() -> None:
    assert read_text("é: {ü: ß, x: y}\n", "w.yaml").key_where(["é", "x"]) == Position("w.yaml", 1, 11)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("name: ärger".encode("latin-1"))
    for path, code in [(latin, "not-utf-8"), (tmp_path, "not-a-file"), (tmp_path / "no.yaml", "file-not-found")]:
        with pytest.raises(InvalidFiles) as refused:
            read(path)
        assert [diagnostic.code for diagnostic in refused.value.diagnostics] == [code]
