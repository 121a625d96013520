"""Workflows that name other files: SQL, steps, schemas, and whole workflows."""

from __future__ import annotations

from pathlib import Path

from catchment.spec import load
from catchment.spec.model import Job, Loaded
from tests.unit.spec.marked import GOOD, HEAD, JOB, changed, load_text

STEPS = "              - sequence:\n                  - {name: clean, sql: select * from trips}\n"


def job(name: str, dependencies: str = "[]") -> str:
    return JOB.replace("name: one", f"name: {name}\n      dependencies: {dependencies}").replace("a/b", f"a/{name}")


def sub(name: str, file: str, extra: str = "") -> str:
    return f"    - name: {name}\n      file: {file}\n{extra}"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def errors(loaded: Loaded) -> list[tuple[str, str, int]]:
    return [(d.code, Path(d.where.file).name, d.where.line) for d in loaded.diagnostics if d.is_error and d.where]


def edges(jobs: tuple[Job, ...]) -> dict[str, list[str]]:
    return {job.name: [name for name, _ in job.dependencies] for job in jobs}


def test_step_files_stand_in_their_place(tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    listed = "- sequence:\n    - {name: first, sql: select 1}\n"
    for name, text in {"list": listed, "steps": f"steps:\n{listed}", "one": listed[2:].replace("\n  ", "\n")}.items():
        (tmp_path / "steps" / f"{name}.yaml").write_text(text)
        loaded = load_text(tmp_path, changed(STEPS, f"              - steps/{name}.yaml\n{STEPS}"))
        assert errors(loaded) == []
        assert loaded.workflow
        first, second = loaded.workflow.jobs[0].steps
        assert (first.name, second.name) == ("first", "clean")
        assert Path(first.where.file).name == f"{name}.yaml"


def test_problems_in_step_files_are_told_in_those_files(tmp_path: Path) -> None:
    (tmp_path / "steps.yaml").write_text("- sequence:\n    - {name: first}\n    - {nme: second, sql: select 1}\n")
    loaded = load_text(tmp_path, changed(STEPS, f"              - steps.yaml\n{STEPS}"))
    assert errors(loaded) == [
        *(("missing-field", "steps.yaml", 2), ("missing-field", "steps.yaml", 3), ("unknown-key", "steps.yaml", 3)),
    ]
    (tmp_path / "steps.yaml").write_text("just text\n")
    loaded = load_text(tmp_path, changed(STEPS, f"              - steps.yaml\n{STEPS}"))
    assert errors(loaded) == [("bad-step-file", "steps.yaml", 1)]


def test_sql_files_are_filled_with_variables(tmp_path: Path) -> None:
    (tmp_path / "clean.sql").write_text("select *\nfrom ${TABLE}\n")
    text = changed("sql: select * from trips", "sqlFile: clean.sql")
    loaded = load_text(tmp_path, text, {"TABLE": "trips"})
    assert loaded.workflow
    assert loaded.workflow.jobs[0].steps[0].sql == "select *\nfrom trips\n"
    assert errors(load_text(tmp_path, text)) == [("unset-variable", "clean.sql", 2)]


def test_a_schema_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "trips.ddl").write_text("vendor_id int\n")
    loaded = load_text(tmp_path, changed("format: json", "format: json, schemaType: spark, schemaPath: trips.ddl"))
    assert loaded.workflow
    assert loaded.workflow.jobs[0].inputs[0].schema == "vendor_id int\n"


def test_a_sub_workflow_stands_in_its_place(tmp_path: Path) -> None:
    write(tmp_path, inner=HEAD + job("b1") + job("b2", "[b1]") + job("b3", "[b1]"))
    dependencies = "      dependencies: [a]\n"
    loaded = load_text(tmp_path, HEAD + job("a") + sub("b", "inner.yaml", dependencies) + job("c", "b"))
    assert loaded.diagnostics == ()
    assert loaded.workflow
    assert edges(loaded.workflow.jobs) == {"a": [], "b1": ["a"], "b2": ["b1"], "b3": ["b1"], "c": ["b2", "b3"]}


def test_the_retry_of_a_sub_workflow_is_for_jobs_without_their_own(tmp_path: Path) -> None:
    own = job("b2").replace("      spec:", "      retry: {count: 1}\n      spec:")
    write(tmp_path, inner=HEAD + job("b1") + own)
    loaded = load_text(tmp_path, HEAD + sub("b", "inner.yaml", "      retry: {count: 5}\n"))
    assert loaded.workflow
    assert {job.name: job.retry.count for job in loaded.workflow.jobs} == {"b1": 5, "b2": 1}


def test_names_stay_unique_through_sub_workflows(tmp_path: Path) -> None:
    write(tmp_path, inner=HEAD + job("a"))
    loaded = load_text(tmp_path, HEAD + job("a") + sub("b", "inner.yaml"))
    assert errors(loaded) == [("duplicate-job", "workflow.yaml", 19)]


def test_problems_of_a_sub_workflow_are_told_in_its_file(tmp_path: Path) -> None:
    write(tmp_path, inner=(HEAD + job("b1", "nobody")).replace("version: v1", "version: v1\ncolour: red"))
    loaded = load_text(tmp_path, HEAD + job("a") + sub("b", "inner.yaml") + job("c", "[a, b, d]"))
    assert errors(loaded) == [
        *(("unknown-dependency", "workflow.yaml", 22), ("unknown-key", "inner.yaml", 3)),
        ("unknown-dependency", "inner.yaml", 8),
    ]


def test_files_in_a_circle_are_refused(tmp_path: Path) -> None:
    write(tmp_path, inner=HEAD + sub("back", "./workflow.yaml"))
    assert errors(load_text(tmp_path, GOOD + sub("b", "inner.yaml"))) == [("file-cycle", "inner.yaml", 7)]


def test_a_file_stands_in_a_workflow_once(tmp_path: Path) -> None:
    write(tmp_path, inner=HEAD + job("b1"))
    loaded = load_text(tmp_path, HEAD + sub("b", "inner.yaml") + sub("c", "./inner.yaml"))
    assert errors(loaded) == [("duplicate-file", "workflow.yaml", 9)]


def test_files_are_not_nested_without_end(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"f{number}.yaml").write_text(HEAD + sub(f"s{number}", f"f{number + 1}.yaml"))
    loaded = load_text(tmp_path, HEAD + sub("s", "f0.yaml"))
    assert [code for code, _, _ in errors(loaded)] == ["too-deep"]


def test_paths_that_no_file_can_have_are_diagnostics(tmp_path: Path) -> None:
    for path in ('"a\\0b"', "x" * 5000, "/", "/dev/zero"):
        for text in (GOOD + sub("b", path), changed("sql: select * from trips", f"sqlFile: {path}")):
            assert [code for code, _, _ in errors(load_text(tmp_path, text))] in (
                ["file-unreadable"],
                ["file-too-large"],
                ["include-outside"],
            )


def test_a_missing_workflow_is_a_diagnostic(tmp_path: Path) -> None:
    loaded = load(tmp_path / "nowhere.yaml")
    assert loaded.workflow is None
    assert [d.code for d in loaded.diagnostics] == ["file-not-found"]
