"""Jobs and questions get an engine that can handle their depots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from catchment import plan
from catchment.errors import RequestError
from catchment.plan import engines, fitting
from catchment.plan.preparation import Prepared
from catchment.plan.sql_depots import depots_in
from catchment.project.model import Catalog, Depot, Engine, Project
from tests.unit.formats import choosy
from tests.unit.formats.choosy import NEW, OLD
from tests.unit.plan.flows import COMPUTE, J, flow, place

LAKE = Depot("lake", "iceberg", "/lake", Catalog("jdbc", database="/lake/catalog.db"), publish="shown")
DROP = Depot("drop", "files", "/drop")
DEFAULT = Engine("default", master="local[2]", conf={"spark.driver.memory": "3g", "spark.jars": "a.jar"})
SECOND = Engine("second", spark="3.5")
THIRD = Engine("third", spark="3.5", isolation="process")
CLUSTER = replace(DEFAULT, master="spark://somewhere:7077")
TO_OLD, TO_NEW, TO_LAKE = ("dataos://old:raw/t?acl=rw", "dataos://new:raw/t?acl=rw", "dataos://lake:raw/t?acl=rw")


@pytest.fixture(autouse=True)
def formats(monkeypatch: pytest.MonkeyPatch) -> None:
    choosy.register(monkeypatch)


def project(*known: Engine) -> Project:
    found: Mapping[str, Engine] = {engine.name: engine for engine in (*known, DEFAULT)}
    depots = {depot.name: depot for depot in (LAKE, DROP, OLD, NEW)}
    return Project(Path("/p"), Path("/p/catchment.yaml"), "sqlite:////p/m.db", depots, found)


def prepare(directory: Path, *jobs: J, known: Project | None = None) -> Prepared:
    (directory / "flow.yaml").write_text(flow(*jobs))
    return plan.prepare(directory / "flow.yaml", env={}, project=known or project())


def test_a_job_is_placed_on_an_engine_that_fits_its_depots(tmp_path: Path) -> None:
    jobs = J("plain", write=TO_LAKE), J("toys", write=TO_OLD), J("late", write=TO_NEW)
    made = prepare(tmp_path, *jobs).plan
    assert made
    assert [job.engine for job in made.jobs] == ["default", "spark-3.5", "default"]
    [placed] = made.placed
    assert (placed.job, placed.engine) == ("toys", "spark-3.5")
    assert placed.reason == "depot `old` (old-toy) needs Spark 3.5, and engine `default` has Spark 4.1"
    by_key = {engine.key: engine for engine in made.engines}
    assert [depot.name for depot in by_key["spark-3.5"].depots] == ["drop", "old"]
    assert [depot.name for depot in by_key["default"].depots] == ["drop", "lake", "new"]


def test_an_engine_that_is_made_is_like_the_default_one() -> None:
    made = fitting.available(project())["spark-3.5"]
    assert made == Engine("spark-3.5", spark="3.5", master="local[2]", conf={"spark.driver.memory": "3g"})


def test_the_first_engine_of_the_file_that_fits_is_taken(tmp_path: Path) -> None:
    known = project(SECOND, THIRD)
    assert [*fitting.available(known)] == ["default", "second", "third"]
    made = prepare(tmp_path, J("toys", write=TO_OLD), known=known).plan
    assert made
    assert [job.engine for job in made.jobs] == ["second"]
    named = prepare(tmp_path, J("toys", write=TO_OLD, compute="third"), known=known).plan
    assert named
    assert ([job.engine for job in named.jobs], named.placed) == (["third-toys"], ())


def test_an_engine_that_would_be_made_can_be_named(tmp_path: Path) -> None:
    made = prepare(tmp_path, J("a", write=TO_LAKE, compute="spark-3.5")).plan
    assert made
    assert ([job.engine for job in made.jobs], made.placed) == (["spark-3.5"], ())


def test_an_unknown_engine_is_replaced_by_one_that_fits(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, J("a", write=TO_OLD, compute="bg"))
    assert prepared.plan
    assert [job.engine for job in prepared.plan.jobs] == ["spark-3.5"]
    [warning] = prepared.diagnostics
    assert (warning.code, "runs on `spark-3.5`" in warning.message) == ("unknown-compute", True)


def test_an_engine_that_was_named_and_does_not_fit_is_refused(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, J("a", write=TO_LAKE), J("b", write=TO_NEW, compute="second"), known=project(SECOND))
    assert prepared.plan is None
    [found] = prepared.diagnostics
    assert place(found) == ("unsuitable-engine", COMPUTE + 11, 16)
    assert "engine `second` has Spark 3.5, and depot `new` (new-toy) needs Spark 4.1" in found.message
    assert found.hint
    assert "(default)" in found.hint


def test_a_table_of_paimon_on_an_engine_with_spark_4_is_refused(tmp_path: Path) -> None:
    pond = Depot("pond", "paimon", "/pond", Catalog("filesystem"))
    known = replace(project(SECOND), depots={**project().depots, "pond": pond})
    job = J("a", write="dataos://pond:raw/t?acl=rw")
    made = prepare(tmp_path, job, known=known).plan
    assert made
    assert [job.engine for job in made.jobs] == ["second"]
    refused = prepare(tmp_path, replace(job, compute="default"), known=known)
    [found] = refused.diagnostics
    assert (refused.plan, place(found)) == (None, ("unsuitable-engine", COMPUTE, 16))
    assert found.hint
    assert "(second)" in found.hint


@pytest.mark.parametrize("compute", ["runnable-default", "default"])
def test_depots_that_no_engine_has_together_are_refused(tmp_path: Path, compute: str) -> None:
    both = J("b", read="dataos://new:raw/t", write=TO_OLD, read_more="", compute=compute)
    prepared = prepare(tmp_path, both)
    assert prepared.plan is None
    [found] = prepared.diagnostics
    line = 6 if compute == "runnable-default" else COMPUTE
    code = "no-suitable-engine" if compute == "runnable-default" else "unsuitable-engine"
    assert (found.code, found.where and found.where.line) == (code, line)
    assert "depot `old` (old-toy) needs Spark 3.5" in found.message
    assert found.hint
    assert "split it into two jobs" in found.hint


def test_no_engine_is_made_beside_a_cluster(tmp_path: Path) -> None:
    known = replace(project(), engines={"default": CLUSTER})
    assert [*fitting.available(known)] == ["default"]
    [found] = prepare(tmp_path, J("a", write=TO_OLD), known=known).diagnostics
    assert found.code == "no-suitable-engine"
    assert found.hint
    assert 'old: {spark: "3.5"}' in found.hint


def test_a_question_gets_an_engine_that_can_read_its_depot() -> None:
    assert fitting.choose_reader(project(), None, {"lake", "drop"}) == fitting.Choice(DEFAULT)
    assert fitting.choose_reader(project(), None, {"old"}).engine.name == "spark-3.5"
    assert fitting.choose_reader(project(SECOND), "second", {"old", "lake"}) == fitting.Choice(SECOND)
    for name, tables, code in (
        ("default", {"old"}, "unsuitable-engine"),
        (None, {"old", "new"}, "no-suitable-engine"),
        ("defualt", set(), "unknown-engine"),
    ):
        with pytest.raises(RequestError) as caught:
            fitting.choose_reader(project(), name, tables)
        assert (caught.value.code, bool(caught.value.hint)) == (code, True)


def test_depots_are_asked_in_as_few_groups_as_engines_are_needed() -> None:
    assert fitting.grouped(project(), ["lake", "old", "new", "gone"]) == [{"lake", "new", "gone"}, {"old"}]


def test_an_engine_that_reads_leaves_out_what_it_cannot_read() -> None:
    known = project(SECOND)
    assert [depot.name for depot in engines.reading_engine(known).depots] == ["lake", "new"]
    assert [depot.name for depot in engines.reading_engine(known, SECOND).depots] == ["lake", "old"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM old.raw.t", {"old"}),
        ("SELECT * FROM `old`.raw.t.snapshots JOIN shown.raw.u USING (id)", {"old", "lake"}),
        ("WITH old AS (SELECT 1) SELECT * FROM old", set()),
        ("INSERT INTO new.raw.t SELECT * FROM other.raw.t", {"new"}),
        ("this is no SQL (", set()),
    ],
)
def test_the_depots_of_a_statement(sql: str, expected: set[str]) -> None:
    assert depots_in(sql, project()) == expected


def test_a_statement_is_not_looked_into_if_the_default_engine_reads_everything() -> None:
    assert depots_in("SELECT * FROM lake.raw.t", replace(project(), depots={"lake": LAKE, "drop": DROP})) == set()
