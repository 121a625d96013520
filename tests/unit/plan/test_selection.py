"""`--select` and `--exclude`: the DAG is cut as asked, and the rest keeps its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import plan
from catchment.errors import RequestError
from catchment.plan.model import Plan
from catchment.run_model import Choices
from tests.unit.plan.flows import PROJECT, J, flow

JOBS = (J("a"), J("b", needs="a"), J("c", needs="b"), J("d", needs="b"), J("e"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "catchment.yaml").write_text(PROJECT)
    file = tmp_path / "flow.yaml"
    text = flow(*JOBS)
    for name, tags in {"a": "[daily]", "c": "[daily, heavy]"}.items():
        text = text.replace(f"  - name: {name}\n", f"  - name: {name}\n    tags: {tags}\n")
    file.write_text(text)
    return file


def cut(file: Path, select: str = "", exclude: str = "") -> Plan:
    choices = Choices(select=tuple(select.split()), exclude=tuple(exclude.split()))
    return plan.prepare(file, choices=choices).require()[1]


@pytest.mark.parametrize(
    ("select", "exclude", "left"),
    [
        ("", "", "a b c d e"),
        ("b", "", "b"),
        ("b+", "", "b c d"),
        ("+b", "", "a b"),
        ("+b+", "", "a b c d"),
        ("b e", "", "b e"),
        ("tag:daily", "", "a c"),
        ("tag:heavy+", "", "c"),
        ("+tag:heavy", "", "a b c"),
        ("", "b+", "a e"),
        ("a+", "tag:heavy", "a b d"),
        ("", "+d", "c e"),
    ],
)
def test_what_is_selected(select: str, exclude: str, left: str, file: Path) -> None:
    made = cut(file, select, exclude)
    assert sorted(job.name for job in made.jobs) == left.split()
    assert sorted(made.choices.left_out) == [name for name in "abcde" if name not in left.split()]


def test_a_job_waits_for_what_it_needs_through_jobs_that_are_left_out(file: Path) -> None:
    needs = {job.name: job.depends_on for job in cut(file, "a d").jobs}
    assert needs == {"a": (), "d": ("a",)}


def test_engines_and_shared_tables_are_those_of_the_rest(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text(PROJECT)
    file = tmp_path / "flow.yaml"
    file.write_text(flow(J("a", compute="big"), J("b"), J("c", write="dataos://lakehouse:raw/other?acl=rw")))
    assert len(cut(file).shared) == 1
    made = cut(file, exclude="a")
    assert ([each.key for each in made.engines], made.shared) == (["default"], ())


def test_a_linger_without_company_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text(PROJECT)
    file = tmp_path / "flow.yaml"
    file.write_text(flow(J("a", write_more=", linger: 5s"), J("b", write_more=", linger: 5s")))
    assert [job.name for job in cut(file, "a").jobs] == ["a"]


@pytest.mark.parametrize(
    ("select", "exclude", "code", "hint"),
    [
        ("x", "", "job-not-found", "jobs are a, b, c, d, e"),
        ("tag:dialy", "", "unknown-tag", "did you mean `daily`?"),
        ("a", "a", "nothing-selected", "the jobs of flow are a, b, c, d, e"),
        ("", "y", "job-not-found", "jobs are a, b, c, d, e"),
    ],
)
def test_what_cannot_be_selected(select: str, exclude: str, code: str, hint: str, file: Path) -> None:
    with pytest.raises(RequestError) as caught:
        cut(file, select, exclude)
    assert (caught.value.code, caught.value.hint) == (code, hint)


def test_the_jobs_of_an_included_file_are_selected_by_their_node(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text(PROJECT)
    (tmp_path / "inner.yaml").write_text(flow(J("one"), J("two", needs="one")))
    outer = tmp_path / "outer.yaml"
    dag = "[{name: all, file: inner.yaml, tags: [bronze]}]"
    outer.write_text(f"name: outer\nversion: v1\ntype: workflow\nworkflow: {{dag: {dag}}}\n")
    for item in ("all", "tag:bronze", "one+"):
        assert [job.name for job in cut(outer, item).jobs] == ["one", "two"]


def test_the_problems_of_jobs_that_are_left_out_are_reported(tmp_path: Path) -> None:
    (tmp_path / "catchment.yaml").write_text(PROJECT)
    file = tmp_path / "flow.yaml"
    file.write_text(flow(J("a"), J("b", read="dataos://nowhere:none/x")))
    prepared = plan.prepare(file, choices=Choices(select=("a",)))
    assert [each.code for each in prepared.diagnostics if each.is_error] == ["unknown-depot"]
