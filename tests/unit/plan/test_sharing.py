from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from catchment.plan.model import SharedTable
from tests.unit.plan.flows import FILES, PROJECT, TABLE, J, flow, prepare

ADDRESS = TABLE.partition("?")[0]


def shared(directory: Path, *jobs: J) -> tuple[SharedTable, ...]:
    found = prepare(directory, flow(*jobs)).plan
    assert found is not None
    return found.shared


@pytest.mark.parametrize(
    ("jobs", "effect"),
    [
        ((J("a"), J("b")), "both append"),
        ((J("a"), J("b", "a")), "both append"),
        ((J("a"), J("b"), J("c")), "all append"),
        (
            (J("a", mode="overwrite-partitions"), J("b", mode="overwrite-partitions")),
            "both replace partitions: last to commit wins where they overlap",
        ),
        (
            (J("b", "a"), J("a", mode="overwrite")),
            "one after the other: a replaces the whole dataset, then b appends",
        ),
        (
            (J("a", mode="overwrite"), J("b")),
            "a replaces the whole dataset, b appends: the order of commits decides the result",
        ),
        (
            (J("a"), J("b", "a", mode="overwrite-partitions")),
            "one after the other: a appends, then b replaces partitions",
        ),
    ],
)
def test_what_will_happen(jobs: tuple[J, ...], effect: str, tmp_path: Path) -> None:
    (found,) = shared(tmp_path, *jobs)
    assert found.address == ADDRESS
    assert sorted(found.jobs) == sorted(job.name for job in jobs)
    assert found.effect == effect


def test_files_may_be_written_one_after_the_other(tmp_path: Path) -> None:
    (found,) = shared(tmp_path, J("a", write=FILES, mode="overwrite"), J("b", "a", write=FILES))
    assert found.effect == "one after the other: a replaces the whole dataset, then b appends"


@pytest.mark.parametrize(
    ("mode", "effect"),
    [
        ("append", "both append"),
        ("overwrite-partitions", "both replace partitions: last to commit wins where they overlap"),
    ],
)
def test_files_may_be_written_at_the_same_time(tmp_path: Path, mode: str, effect: str) -> None:
    (found,) = shared(tmp_path, J("a", write=FILES, mode=mode), J("b", write=FILES, mode=mode))
    assert found.effect == effect


def test_a_delta_table_is_shared_like_any_other_table(tmp_path: Path) -> None:
    project = PROJECT + "  events: {kind: delta, location: ./events}\n"
    address = "dataos://events:raw/x"
    jobs = (J("a", write=f"{address}?acl=rw"), J("b", read=address, read_more="", write=f"{address}?acl=rw"))
    prepared = prepare(tmp_path, flow(*jobs), project)
    assert prepared.diagnostics == ()
    assert prepared.plan is not None
    assert prepared.plan.shared == (SharedTable(address, ("a", "b"), "both append"),)


def test_outputs_linger_as_they_say_or_as_the_project_says_where_that_has_an_effect(tmp_path: Path) -> None:
    jobs = J("a"), J("b", write_more=", linger: 1m30s"), J("c", write_more=", linger: 0"), J("d", write=FILES)
    direct = J("e", write_more=", commit: direct")
    plan = prepare(tmp_path, flow(*jobs, direct), f"{PROJECT}settings: {{linger: 5s}}\n").plan
    assert plan is not None
    assert [job.outputs[0].linger for job in plan.jobs] == [5.0, 90.0, 0.0, 0.0, 0.0]


def test_appends_to_delta_tables_linger_and_other_writes_do_not(tmp_path: Path) -> None:
    project = f"{PROJECT}  events: {{kind: delta, location: ./events}}\nsettings: {{linger: 5s}}\n"
    delta = partial(J, write="dataos://events:raw/x?acl=rw")
    jobs = delta("a"), delta("b"), delta("c", mode="overwrite"), delta("d", options="mergeSchema: true")
    plan = prepare(tmp_path, flow(*jobs), project).plan
    assert plan is not None
    assert [job.outputs[0].linger for job in plan.jobs] == [5.0, 5.0, 0.0, 0.0]


def test_nobody_lingers_where_the_catalog_bears_one_writer_at_a_time(tmp_path: Path) -> None:
    hadoop = PROJECT.replace("location: ./lake", "location: ./lake, catalog: {type: hadoop}")
    plan = prepare(tmp_path, flow(J("a"), J("b")), f"{hadoop}settings: {{linger: 5s}}\n").plan
    assert plan is not None
    assert [job.outputs[0].linger for job in plan.jobs] == [0.0, 0.0]


def test_other_tables_are_not_shared(tmp_path: Path) -> None:
    assert shared(tmp_path, J("a"), J("b", write="dataos://lakehouse:raw/other?acl=rw")) == ()


@pytest.mark.parametrize(
    "jobs",
    [
        (J("a", mode="overwrite"), J("b", "a", mode="overwrite")),
        (J("a", mode="overwrite"), J("b", "a", write="dataos://lakehouse:raw/x?acl=rw"), J("c", "b")),
        (J("a", mode="overwrite"), J("b", "a"), J("c", "a")),
        (J("a", mode="overwrite-partitions"), J("b", "a"), J("c", "a")),
        (J("a", write=FILES), J("b", "a", read="dataos://drop:none/out")),
        (J("a"), J("b", read=ADDRESS, read_more="")),
    ],
    ids=["directly", "through another job", "two after one", "partitions first", "read after", "tables have snapshots"],
)
def test_an_order_leaves_nothing_to_warn_of(jobs: tuple[J, ...], tmp_path: Path) -> None:
    prepared = prepare(tmp_path, flow(*jobs))
    assert prepared.diagnostics == ()
    assert prepared.plan is not None


def test_one_unordered_writer_among_many_is_found(tmp_path: Path) -> None:
    jobs = (J("a"), J("b", "a"), J("c", "b", mode="overwrite"), J("loose", "a"))
    (found,) = prepare(tmp_path, flow(*jobs)).diagnostics
    assert found.code == "full-overwrite-shared"
    assert "`c`" in found.message
    assert "`loose`" in found.message
