"""Every published spelling of a merge becomes the same clauses, and a place in them is found again in the YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.errors import Position
from catchment.spec.model import Merge, Output
from catchment.spec.reading.merges import qualifiers, read_clause
from catchment.spec.tree import ScalarNode
from tests.unit.spec.marked import changed, load_text, unmarked

OPTIONS = "options: {saveMode: append}"
ON, WHEN = "old.id = new.id", "MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
CLAUSES = f"onClause: {ON}, whenClause: {WHEN}"


def output_of(folder: Path, options: str) -> tuple[Output, list[str]]:
    loaded = load_text(folder, changed(OPTIONS, f"options: {{{options}}}"))
    assert loaded.workflow
    assert not [found for found in loaded.diagnostics if found.is_error]
    return loaded.workflow.jobs[0].outputs[0], [found.code for found in loaded.diagnostics]


def merge_of(folder: Path, clauses: str) -> Merge:
    found, _ = output_of(folder, f"merge: {{{clauses}}}")
    assert found.merge
    return found.merge


@pytest.mark.parametrize(
    "options",
    [
        f"saveMode: overwrite, iceberg: {{merge: {{{CLAUSES}}}}}",
        f"saveMode: overwrite, merge: {{{CLAUSES}}}",
        f"saveMode: Overwrite, iceberg: {{properties: {{a: b}}}}, merge: {{{CLAUSES}}}",
        f"merge: {{{CLAUSES}}}",
    ],
)
def test_a_merge_stands_in_two_places_and_needs_no_save_mode(tmp_path: Path, options: str) -> None:
    found, warnings = output_of(tmp_path, options)
    assert warnings == []
    assert found.mode == "merge"
    assert found.merge
    assert (found.merge.on.sql, found.merge.when.sql) == (ON, WHEN)


@pytest.mark.parametrize(
    "clauses",
    [
        f"onClause: {ON}, whenClause: WHEN {WHEN}",
        f"onClause: ON {ON}, whenClause: when {WHEN}",
        f"onClause: {ON}, whenClause: '{WHEN} ; '",
        f"onClause: '{ON};', whenClause: \"\\nWHEN {WHEN}\"",
    ],
)
def test_keywords_in_front_and_a_semicolon_behind_are_dropped(tmp_path: Path, clauses: str) -> None:
    found = merge_of(tmp_path, clauses)
    assert (found.on.sql.strip(), found.when.sql.strip()) == (ON, WHEN)


@pytest.mark.parametrize(
    ("clauses", "names"),
    [
        (CLAUSES, ("old", "new")),
        ("onClause: target.id = source.id, whenClause: MATCHED THEN DELETE", ("target", "source")),
        ("onClause: Target.id = `SOURCE`.id, whenClause: MATCHED THEN DELETE", ("target", "source")),
        ("onClause: target.id = new.id, whenClause: MATCHED THEN DELETE", ("target", "new")),
        ("onClause: id = key, whenClause: MATCHED THEN DELETE", ("old", "new")),
        ("onClause: old.source.id = new.target.id, whenClause: MATCHED THEN DELETE", ("old", "new")),
        ("onClause: old.id = new.id, whenClause: MATCHED AND new.s = 'source.x' THEN DELETE", ("old", "new")),
    ],
)
def test_the_names_of_table_and_view_are_those_of_the_clauses(
    tmp_path: Path, clauses: str, names: tuple[str, str]
) -> None:
    found = merge_of(tmp_path, clauses)
    assert (found.target, found.source) == names


def test_qualifiers_are_names_in_front_of_a_dot() -> None:
    sql = "a.b = `C`.d.e AND f(g.h) > 1.5 -- no.comment\n AND /* n.o */ x = 'n.o' AND y = \"n.o\""
    assert qualifiers(sql) == {"a", "c", "g"}


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("a.b = 1 /* c.d /* e.f */ g.h */ AND i.j = 2", {"a", "i"}),
        ("a.`it's` = b.c AND d.`-- e` = 'f.g'", {"a", "b", "d"}),
        ("`a b`.c = `d`.e", {"a_b", "d"}),
        ("a.b rlike r'\\' AND c.d = 'e.f'", {"a", "c"}),
        ("a.b = 1 -- it's c.d\n AND e.f = 'g.h'", {"a", "e"}),
        ("a.b = 'c.d' AND 'no end", set()),
        ("a.b = 1 /* no end", set()),
    ],
)
def test_literals_names_and_comments_hide_no_qualifiers_and_give_none(sql: str, names: set[str]) -> None:
    assert qualifiers(sql) == names


@pytest.mark.parametrize(
    ("text", "keyword", "sql"),
    [
        ("ON a.b = c.d;", "ON", "   a.b = c.d"),
        ("/* by key */ on a.b = c.d ; -- done", "ON", "/* by key */    a.b = c.d   -- done"),
        ("a.b = 1 -- no end;", "ON", "a.b = 1 -- no end;"),
        ("online.b = c.d", "ON", "online.b = c.d"),
        ("WHERE a = ';'", "WHERE", "      a = ';'"),
        ("WHERE a = 'no end", "WHERE", "      a = 'no end"),
    ],
)
def test_a_clause_loses_its_keyword_and_its_end_and_nothing_moves(text: str, keyword: str, sql: str) -> None:
    assert read_clause(text, ScalarNode(text, text, Position("a.yaml", 1, 1), source=text), keyword).sql == sql


def test_a_comment_may_stand_before_a_clause(tmp_path: Path) -> None:
    found = merge_of(
        tmp_path, f'onClause: "{ON}", whenClause: "-- it\'s new\\nWHEN /* by source */ NOT MATCHED THEN INSERT *"'
    )
    assert found.when.sql.strip().endswith("NOT MATCHED THEN INSERT *")


def test_what_has_no_effect_on_a_merge_is_told(tmp_path: Path) -> None:
    iceberg = f"iceberg: {{merge: {{{CLAUSES}}}, properties: {{overwrite-mode: dynamic}}}}"
    found, warnings = output_of(tmp_path, f"sort: {{mode: global, columns: [{{name: a}}]}}, {iceberg}")
    assert (found.mode, found.properties, warnings) == ("merge", {}, ["ignored-key", "ignored-key"])


@pytest.mark.parametrize(
    "marked",
    [
        "onClause: old.id = new.id, whenClause: WHEN MATCHED THEN UPDATE SET old.§nowhere = 1",
        "onClause: ON old.§nowhere = new.id, whenClause: MATCHED THEN DELETE",
        "onClause: old.id = new.id, whenClause: 'WHEN MATCHED\n              THEN UPDATE SET §nowhere = 1;'",
    ],
)
def test_a_place_in_a_clause_is_found_in_the_file(tmp_path: Path, marked: str) -> None:
    text, line, column = unmarked(changed(OPTIONS, f"options: {{merge: {{{marked}}}}}"))
    loaded = load_text(tmp_path, text)
    assert loaded.workflow
    merge = loaded.workflow.jobs[0].outputs[0].merge
    assert merge
    clause = next(clause for clause in (merge.on, merge.when) if "nowhere" in clause.sql)
    assert clause.position(1, clause.sql.index("nowhere")) == Position(str(tmp_path / "workflow.yaml"), line, column)
