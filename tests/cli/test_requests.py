"""Requests that never reach Spark: good and bad files, shapes, exit codes."""

import json
from pathlib import Path

import pytest

from tests.cli import program, projects

SEEDS = Path(__file__).parent.parent / "workflows"
DIAGNOSTIC = {"file", "line", "column", "severity", "code", "message", "hint"}


def test_the_published_seed_gets_its_error_at_the_right_line(tmp_path: Path) -> None:
    file = SEEDS / "seed-000-published.yaml"
    answer = program.call("validate", file, cwd=tmp_path)
    assert answer.code == 2
    assert f"{file}:100:25: error[value-and-block]" in answer.out
    assert "remove `ny_taxi_ts` on line 99" in answer.out
    assert "^" in answer.out
    assert "hint:" in answer.out
    assert answer.err == ""


@pytest.mark.parametrize(("seed", "has_warnings"), [("seed-000.yaml", True), ("seed-004.yaml", False)])
def test_seeds_are_valid(tmp_path: Path, seed: str, has_warnings: bool) -> None:
    answer = program.call("validate", SEEDS / seed, "--output", "json", cwd=tmp_path)
    assert answer.code == 0
    assert bool(answer.data["diagnostics"]) == has_warnings
    for diagnostic in answer.data["diagnostics"]:
        assert set(diagnostic) == DIAGNOSTIC
        assert diagnostic["severity"] == "warning"


def test_validate_tells_every_problem_of_every_file(tmp_path: Path) -> None:
    projects.make(tmp_path)
    bad = projects.job("one", "SELECT 1", after="nobody", mode="upsert")
    (tmp_path / "a.yaml").write_text(projects.workflow("Bad_Name", bad))
    (tmp_path / "b.yaml").write_text(projects.workflow("b", projects.job("one", "SELECT 1", to="lakehous:raw/trips")))
    answer = program.call("validate", "a.yaml", "b.yaml", "-o", "json", cwd=tmp_path)
    assert answer.code == 2
    assert [(d["file"], d["line"], d["code"]) for d in answer.data["diagnostics"]] == [
        ("a.yaml", 1, "bad-name"),
        ("a.yaml", 23, "bad-save-mode"),
        ("a.yaml", 24, "unknown-dependency"),
        ("b.yaml", 21, "unknown-depot"),
    ]


def test_a_run_of_a_bad_file_is_refused_before_anything_starts(tmp_path: Path) -> None:
    projects.make(tmp_path)
    (tmp_path / "a.yaml").write_text(projects.workflow("a", projects.job("one", "SELECT 1", to="lakehous:raw/trips")))
    answer = program.call("run", "a.yaml", "--output", "json", cwd=tmp_path)
    assert answer.code == 2
    assert [d["code"] for d in answer.data["diagnostics"]] == ["unknown-depot"]
    assert "a.yaml:21:" in answer.err
    assert "lakehouse" in answer.err
    assert not (tmp_path / ".catchment").exists()


@pytest.mark.slow
def test_what_spark_would_refuse_is_refused_before_it_starts(tmp_path: Path) -> None:
    projects.make(tmp_path)
    jobs = (
        projects.job("one", "SELECT * FROM tripz"),
        projects.job("two", "SELECT (1 FROM trips"),
        projects.job("three", "SELECT * FROM trips", source="dropzone:none/nothing-here.json"),
    )
    (tmp_path / "a.yaml").write_text(projects.workflow("a", *jobs))
    expected = [(18, "unknown-view"), (37, "sql-syntax"), (51, "input-not-found")]
    for verb, count in (("validate", 3), ("run", 2)):
        answer = program.call(verb, "a.yaml", "-o", "json", cwd=tmp_path)
        assert answer.code == 2
        assert [(d["line"], d["code"]) for d in answer.data["diagnostics"]] == expected[:count]
    (tmp_path / "a.yaml").write_text(projects.workflow("a", jobs[2]))
    assert program.call("validate", "a.yaml", "-o", "json", cwd=tmp_path).code == 0
    answer = program.call("run", "a.yaml", "-o", "json", cwd=tmp_path)
    assert (answer.code, [d["code"] for d in answer.data["diagnostics"]]) == (2, ["input-not-found"])
    assert not (tmp_path / ".catchment").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("validate", "missing.yaml"), "file-not-found"),
        (("plan", "missing.yaml"), "file-not-found"),
        (("run", "missing.yaml"), "file-not-found"),
        (("apply", "-f", "missing.yaml"), "file-not-found"),
        (("runs", "20240101-000000-abcdef"), "run-not-found"),
        (("logs", "20240101-000000-abcdef"), "run-not-found"),
        (("resume", "20240101-000000-abcdef"), "run-not-found"),
        (("logs",), "no-runs"),
        (("runs", "--project", "nowhere"), "file-not-found"),
        (("resume",), "no-runs"),
        (("table", "ls", "nowhere"), "unknown-depot"),
        (("table", "show", "lakehouse.raw.trips"), "bad-address"),
        (("table", "files", "dataos://lakehouse:raw"), "no-dataset"),
        (("table", "show", "dataos://lakehouse:raw/../trips"), "address-escapes-depot"),
        (("query", "SELECT 1", "--engine", "nobody"), "unknown-engine"),
        (("query", "--file", "missing.sql"), "file-not-found"),
        (("query", "DROP TABLE lakehouse.raw.t", "--write"), "not-confirmed"),
        (("table", "expire", "dataos://lakehouse:raw/t"), "not-confirmed"),
        (("table", "expire", "dataos://lakehouse:raw/t", "--older-than", "soon"), "bad-timestamp"),
        (
            ("table", "expire", "dataos://lakehouse:raw/t", "--older-than", "2026-01-01", "--snapshot", "1", "--yes"),
            "options-conflict",
        ),
        (("table", "remove-orphans", "dataos://lakehouse:raw/t"), "not-confirmed"),
        (("table", "compact", "dataos://lakehouse:raw/t", "--property", "rewrite-all"), "bad-option"),
        (("table", "compact", "dataos://lakehouse:raw/t", "--property", "rewrite-al=true"), "bad-option"),
        (("compact",), "missing-argument"),
        (("compact", "--warehouse", "wh", "--table", "t"), "missing-argument"),
        (("compact", "dataos://lakehouse:raw/t", "--warehouse", "wh"), "option-without-effect"),
        (("compact", "dataos://lakehouse:raw/t?acl=r"), "read-only-input"),
        (("compact", "dataos://lakehouse:raw/t", "--partition", "day"), "bad-option"),
        (("compact", "dataos://lakehouse:raw/t", "--partition", "day=1,day=2"), "bad-option"),
        (("compact", "dataos://lakehouse:raw/t", "--mode", "continuous", "--dry-run"), "option-without-effect"),
        (("compact", "dataos://dropzone:none/t.csv"), "unsupported-actions"),
        (("maintain", "--once", "--max-bytes-per-hour", "much"), "bad-option"),
        (("maintain", "--once", "--max-bytes-per-hour", "0"), "threshold-never-met"),
        (("run", "plain.yaml", "--backfill", "1..2"), "option-without-effect"),
        (("run", "plain.yaml", "--until-caught-up"), "option-without-effect"),
        (("run", "plain.yaml", "--windows", "1"), "option-without-effect"),
        (("run", "plain.yaml", "--wait"), "option-without-effect"),
        (("run", "plain.yaml", "--tick", "2026-01-01T00:00:00Z", "--backfill", "1..2"), "option-without-effect"),
        (("runs", "20240101-000000-abcdef", "--limit", "3"), "option-without-effect"),
        (("schedule", "plain.yaml", "--count", "3"), "option-without-effect"),
        (
            ("table", "partition", "add", "dataos://lakehouse:raw/t", "day", "at", "--buckets", "4"),
            "option-without-effect",
        ),
        (
            ("table", "partition", "replace", "dataos://lakehouse:raw/t", "f", "bucket", "id", "--width", "4"),
            "option-without-effect",
        ),
    ],
)
def test_wrong_requests_have_a_code_and_leave_with_two(tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    projects.make(tmp_path)
    (tmp_path / "plain.yaml").write_text(projects.workflow("plain", projects.job("one", "SELECT 1 AS a")))
    answer = program.call(*arguments, cwd=tmp_path)
    assert answer.code == 2
    assert f"error[{code}]" in answer.out + answer.err
    assert "Traceback" not in answer.out + answer.err


def test_a_project_that_is_named_is_used_for_a_file_elsewhere(tmp_path: Path) -> None:
    projects.make(tmp_path / "lake")
    (tmp_path / "w.yaml").write_text(projects.workflow("w", projects.job("one", "SELECT 1", to="elsewhere:raw/trips")))
    answer = program.call("run", "w.yaml", "--project", "lake", "-o", "json", cwd=tmp_path)
    assert answer.code == 2
    assert [d["code"] for d in answer.data["diagnostics"]] == ["unknown-depot"]


@pytest.mark.parametrize(
    "arguments", [(), ("nonsense",), ("run",), ("run", "x.yaml", "--jobs", "0"), ("query",), ("query", "a", "-f", "b")]
)
def test_wrong_usage_leaves_with_two(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    answer = program.call(*arguments, cwd=tmp_path)
    assert answer.code == 2
    assert "Usage: catchment" in answer.err


def test_schemas_are_json_schemas(tmp_path: Path) -> None:
    for kind in ("workflow", "project"):
        schema = program.call("schema", kind, cwd=tmp_path).data
        assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"


def test_the_plan_is_printed_and_is_data(tmp_path: Path) -> None:
    projects.make(tmp_path)
    both = projects.workflow("both", projects.job("one", "SELECT 1 AS a"), projects.job("two", "SELECT 2 AS a"))
    (tmp_path / "both.yaml").write_text(both)
    text, data = (program.call("plan", "both.yaml", "-o", form, cwd=tmp_path) for form in ("text", "json"))
    assert "dataos://lakehouse:raw/trips: one, two: both append" in text.out
    assert [job["name"] for job in data.data["jobs"]] == ["one", "two"]
    assert data.data["shared"][0]["jobs"] == ["one", "two"]


def test_secrets_are_not_printed(tmp_path: Path) -> None:
    conf = "{kind: iceberg, conf: {spark.hadoop.x: '${secret:TOKEN}'},"
    projects.make(tmp_path, projects.SETTINGS.replace("{kind: iceberg,", conf))
    flow = projects.workflow("w", projects.job("one", "SELECT '${secret:SALT}' AS a, '${PLACE}' AS b"))
    (tmp_path / "w.yaml").write_text(flow)
    command = ("plan", "w.yaml", "-o", "json")
    answer = program.call(*command, cwd=tmp_path, TOKEN="hunter22", SALT="pepper-99", PLACE="north-1")
    assert answer.code == 0
    assert "hunter22" not in answer.out + answer.err
    assert "pepper-99" not in answer.out + answer.err
    assert "SELECT '***' AS a, 'north-1' AS b" in answer.out


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    first = program.call("init", "shop", cwd=tmp_path)
    assert first.code == 0
    assert first.out.split() == ["shop/catchment.yaml", "shop/orders.yaml", "shop/data/orders.json", "shop/.gitignore"]
    (tmp_path / "shop" / "catchment.yaml").write_text("mine")
    again = program.call("init", "shop", cwd=tmp_path)
    assert again.code == 2
    assert "error[already-exists]" in again.err
    assert (tmp_path / "shop" / "catchment.yaml").read_text() == "mine"


def test_init_leaves_a_gitignore_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine")
    assert "/.catchment/" in program.call("init", cwd=tmp_path).err
    assert (tmp_path / ".gitignore").read_text() == "mine"


@pytest.mark.slow
def test_verbs_that_only_look_create_nothing(tmp_path: Path) -> None:
    looks: tuple[tuple[str, ...], ...] = (
        ("runs",),
        ("ticks",),
        ("writers",),
        ("state", "ls"),
        ("recover", "--dry-run"),
    )
    for look in (*looks, ("runs", "none"), ("logs",), ("resume",), ("state", "export"), ("state", "show", "a", "b")):
        program.call(*look, cwd=tmp_path)
        assert list(tmp_path.iterdir()) == [], look


def test_what_init_writes_is_valid(tmp_path: Path) -> None:
    program.call("init", cwd=tmp_path)
    answer = program.call("validate", "orders.yaml", "-o", "json", cwd=tmp_path)
    assert json.loads(answer.out) == {"diagnostics": []}


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    import subprocess

    command = f"{program.PROGRAM} schema | head -c 10"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


@pytest.mark.slow
def test_doctor_says_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    broken = (
        "  lakehouse: {kind: iceberg, location: ./not-a-directory}\n"
        "  remote: {kind: iceberg, location: 's3a://bucket/lake', catalog: {type: rest, uri: 'http://127.0.0.1:9/'}}\n"
    )
    settings = projects.SETTINGS.replace("  lakehouse: {kind: iceberg, location: ./lake}\n", broken)
    # Nothing is started with these jars, so nothing is prepared for quick starts.
    settings = settings.replace("1g}", '1g, spark.driver.extraJavaOptions: "-Xshare:off"}')
    projects.make(tmp_path, settings)
    (tmp_path / "not-a-directory").write_text("")
    answer = program.call("doctor", "-o", "json", cwd=tmp_path)
    checks = {check["name"]: check for check in answer.data["checks"]}
    assert answer.code == 1
    for fine in ("python", "java", "engine default", "metastore", "depot dropzone", "catalog lakehouse"):
        assert checks[fine]["status"] == "ok", checks[fine]
    for broken in ("depot lakehouse", "catalog remote"):
        assert checks[broken]["status"] == "problem"
        assert checks[broken]["hint"]


def test_doctor_without_java_says_so(tmp_path: Path) -> None:
    answer = program.call("doctor", cwd=tmp_path, JAVA_HOME=str(tmp_path))
    assert answer.code == 1
    assert "problem  java:" in answer.out
    assert "JAVA_HOME" in answer.out
