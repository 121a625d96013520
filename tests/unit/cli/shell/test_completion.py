from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from catchment.cli.shell.completion import SqlCompleter

COLUMNS = {("lake", "raw", "trips"): ["id", "fare"], ("pond", "raw", "my-clicks"): ["at", "Fancy name"]}


class Lake:
    """Two depots with a table each."""

    def depots(self) -> list[str]:
        return ["lake", "pond"]

    def tables(self, depot: str) -> list[tuple[str, str]]:
        return [names[1:] for names in COLUMNS if names[0] == depot]

    def columns(self, depot: str, collection: str, table: str) -> list[str]:
        return COLUMNS.get((depot, collection, table), [])


def offered(before: str, after: str = "", *, asked: bool = False) -> list[str]:
    completer = SqlCompleter(Lake(), ("\\d", "\\x", "\\timing"))
    found = completer.get_completions(
        Document(before + after, len(before)), CompleteEvent(text_inserted=not asked, completion_requested=asked)
    )
    return [each.text for each in found]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("SELECT * FROM la", "", ["lake", "lateral", "last"]),
        ("SELECT * FROM lake.", "", ["raw"]),
        ("SELECT * FROM lake.raw.", "", ["trips"]),
        ("SELECT * FROM pond.raw.my", "", ["`my-clicks`"]),
        ("SELECT fa", " FROM lake.raw.trips", ["fare", "false"]),
        ("SELECT t.", " FROM lake.raw.trips AS t", ["id", "fare"]),
        ("SELECT trips.", " FROM lake.raw.trips", ["id", "fare"]),
        ("SELECT lake.raw.trips.f", "", ["fare"]),
        ("SELECT p.", " FROM pond.raw.`my-clicks` p", ["at", "`Fancy name`"]),
        ("SEL", "", ["SELECT"]),
        ("sel", "", ["select"]),
        ("nothing.at.all.", "", []),
        ("SELECT ", "", []),
        ("\\", "", ["\\d", "\\x", "\\timing"]),
        ("\\d po", "", ["pond"]),
        ("\\d lake.raw.", "", ["trips"]),
    ],
)
def test_names_that_can_go_on(before: str, after: str, found: list[str]) -> None:
    assert sorted(offered(before, after)) == sorted(found)


def test_everything_is_offered_to_whoever_asks() -> None:
    assert {"lake", "pond", "id", "SELECT"} <= set(offered("SELECT ", " FROM lake.raw.trips", asked=True))
