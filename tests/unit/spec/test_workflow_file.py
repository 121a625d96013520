"""Loading as a whole: all problems at once, variables, speed, and no input that makes it raise."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catchment.spec import load
from catchment.spec.reading import dag
from tests.unit.spec.marked import GOOD, HEAD, JOB, changed, load_text

WORKFLOWS = Path(__file__).parents[2] / "workflows"
SEED = (WORKFLOWS / "seed-000.yaml").read_text(encoding="utf-8")
PIECES = st.sampled_from(
    [
        *(
            "",
            ":",
            "- ",
            "\n",
            "  ",
            "[",
            "{",
            "}",
            "|",
            "&a ",
            "*a",
            "!!x ",
            "'",
            '"',
            "\t",
            "#",
            "~",
            "1",
            "true",
            "${A}",
        )
    ]
)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = GOOD + JOB.replace("name: one", "name: Two").replace(
        "stack: flare:7.0", "stack: flare:7.0\n        clock: 1"
    )
    text = changed("type: workflow", "type: workflow\nowwner: me", text)
    text = text.replace("saveMode: append", "saveMode: add").replace("{name: clean, sql", "{name: clean, sq: 1, sql")
    diagnostics = load_text(tmp_path, text).diagnostics
    assert [(d.code, d.where and d.where.line) for d in diagnostics] == [
        ("unknown-key", 4),
        ("unknown-key", 16),
        ("bad-save-mode", 18),
        ("bad-name", 19),
        ("unknown-key", 22),
        ("unknown-key", 29),
        ("bad-save-mode", 31),
    ]


def test_hints_name_what_was_meant(tmp_path: Path) -> None:
    text = changed("type: workflow", "type: workflow\nowner: me\ntgas: [a]")
    text = changed("    - name: one\n", "    - name: one\n      dependencies: [ona]\n", text)
    hints = {d.code: d.hint for d in load_text(tmp_path, text).diagnostics}
    assert hints == {"unknown-key": "did you mean `tags`?", "unknown-dependency": "did you mean `one`?"}


def test_an_error_in_one_job_leaves_the_others_readable(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, GOOD + "    - name: two\n      dependencies: [one]\n      spec: {stack: soda}\n")
    assert loaded.workflow
    assert [job.name for job in loaded.workflow.jobs] == ["one"]
    assert [d.code for d in loaded.diagnostics] == ["unsupported-stack"]


def test_variables_are_filled_into_values_only(tmp_path: Path) -> None:
    sql = "\"select '${A}', '$A', '$|a|', '$${A}', '${spark.a}', r'^a$' from trips\""
    loaded = load_text(tmp_path, changed("select * from trips", sql), {"A": "x: [y]"})
    assert loaded.diagnostics == ()
    assert loaded.workflow
    assert loaded.workflow.jobs[0].steps[0].sql == (
        "select 'x: [y]', '$A', '$|a|', '${A}', '${spark.a}', r'^a$' from trips"
    )


def test_variables_may_hold_numbers_and_flags(tmp_path: Path) -> None:
    text = changed(
        "          job:\n", "          executor: {cores: '${N}'}\n          job:\n            explain: ${F}\n"
    )
    loaded = load_text(tmp_path, text, {"N": "4", "F": "true"})
    assert loaded.workflow
    job = loaded.workflow.jobs[0]
    assert (job.spark_conf, job.explain) == ({"spark.executor.cores": "4"}, True)


def test_a_hundred_jobs_are_read(tmp_path: Path) -> None:
    body = SEED.split("  dag:\n")[1].split("    - name: nytaxi-vendor-two")[0]
    jobs = "".join(body.replace("nytaxi-vendor-one", f"job-{number}") for number in range(100))
    file = tmp_path / "many.yaml"
    file.write_text(HEAD + jobs)
    loaded = load(file, env={})
    assert loaded.workflow
    assert len(loaded.workflow.jobs) == 100


def test_reading_imports_nothing_heavy() -> None:
    program = (
        "import sys, pathlib, catchment.spec as spec\n"
        "light = {m for m in ('yaml', 'pydantic') if m in sys.modules}\n"
        f"assert spec.load(pathlib.Path({str(WORKFLOWS / 'seed-000.yaml')!r})).workflow\n"
        "heavy = {m for m in ('pyspark', 'sqlalchemy', 'sqlglot', 'croniter', 'rich') if m in sys.modules}\n"
        "assert not light and not heavy, (light, heavy)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(SEED)), length=st.integers(0, 30), piece=PIECES)
def test_no_damage_makes_it_raise(tmp_path: Path, at: int, length: int, piece: str) -> None:
    loaded = load_text(tmp_path, SEED[:at] + piece + SEED[at + length :])
    assert loaded.workflow or any(d.is_error for d in loaded.diagnostics)
    for diagnostic in loaded.diagnostics:
        assert diagnostic.where
        assert diagnostic.where.line >= 1
        assert diagnostic.where.column >= 1


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200))
def test_no_text_makes_it_raise(tmp_path: Path, text: str) -> None:
    (tmp_path / "workflow.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert any(d.is_error for d in load(tmp_path / "workflow.yaml", env={}).diagnostics)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in below:
        yield from paths(item, (*path, key))


def replaced(value: Any, path: tuple[str | int, ...], new: object) -> Any:
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("new", [None, 7, True, "text", [], {}, [None], {"a": {}}, [{"name": []}]], ids=repr)
def test_no_value_in_a_wrong_place_makes_it_raise(tmp_path: Path, new: object) -> None:
    whole = yaml.safe_load((WORKFLOWS / "seed-004.yaml").read_text(encoding="utf-8"))
    for path in paths(whole):
        loaded = load_text(tmp_path, yaml.safe_dump(replaced(whole, path, new)))
        assert loaded.workflow or any(d.is_error for d in loaded.diagnostics)


def test_thousands_of_unknown_names_are_not_all_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(dag, "did_you_mean", lambda word, _: compared.append(word))
    names = ", ".join(f"job-{number}" for number in range(3000))
    loaded = load_text(tmp_path, HEAD + JOB + f"      dependencies: [{names}]\n")
    assert len(loaded.diagnostics) == 3000
    assert all(found.hint for found in loaded.diagnostics)
    assert len(compared) == dag.WITH_SUGGESTION
