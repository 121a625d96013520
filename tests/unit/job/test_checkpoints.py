"""What may change in a stream that has a checkpoint, and the identity of its batches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from catchment.engine.protocol import RunJob
from catchment.errors import JobError
from catchment.job import checkpoints
from catchment.job.checkpoints import About, Checkpoint, about, batch_identity, changes, replaced
from catchment.run_model import RunRequest, began_millis
from tests.spark.lake import HERE, job, output, reading, step, table

OFFSETS = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1767323045678,"conf":{}}\n{"logOffset":4}'


def described(sql: str = "select id from source", spark: str = "4.1.2", stateful: tuple[str, ...] = ()) -> About:
    source = replace(reading("source", table("a")), stream=True)
    written = output("rows", table("b"), mode="append")
    planned = job(written, inputs=[source, reading("names", table("n"))], steps=[step("rows", sql)])
    return about(RunJob("x", planned, "flow", "run", 1, RunRequest()), spark, stateful, {"source": "id-1"})


def test_the_identity_of_a_batch_is_that_of_its_entry_in_the_log() -> None:
    found = batch_identity(OFFSETS, "0b5f1c2e-6b1f", 4)
    assert found == "20260102-030405-0b5f1c2e-6b1f-4"
    assert began_millis(found) == 1767323045000


def test_static_inputs_may_change_and_streams_may_not() -> None:
    assert described().inputs == {"source": "iceberg dataos://lake:raw/a"}
    other = replace(described(), inputs={"source": "iceberg dataos://lake:raw/c"})
    [change] = changes(described(), other)
    assert change == "input source: iceberg dataos://lake:raw/a before, iceberg dataos://lake:raw/c now"


def test_a_dataset_that_takes_the_place_of_another_is_noticed() -> None:
    other = replace(described(), identities={"source": "id-2"})
    assert list(replaced(described(), other)) == ["source"]
    assert not replaced(described(), described())
    assert not replaced(replace(described(), identities={}), other)  # a checkpoint that an earlier version has begun
    assert not list(changes(described(), other))


def test_sql_without_memory_may_change_and_sql_with_memory_may_not() -> None:
    other = "select id, 1 one from source"
    assert not list(changes(described(), described(other, spark="3.5.8")))
    remembering = ("rows",)
    [change] = changes(described(stateful=remembering), described(other, stateful=remembering))
    assert change.startswith("step rows: SELECT id FROM source before")
    [change] = changes(described(stateful=remembering), described(spark="3.5.8", stateful=remembering))
    assert change == "Spark: 4.1 before, 3.5 now"
    [change] = changes(described(), described(stateful=remembering))
    assert "none before, rows now" in change


@pytest.mark.parametrize("sql", ["SELECT  id\nFROM source -- all of them", "select id from source;"])
def test_the_spelling_of_sql_makes_no_difference(sql: str) -> None:
    remembering = ("rows",)
    assert not list(changes(described(stateful=remembering), described(sql, stateful=remembering)))


def test_outputs_stay() -> None:
    assert list(changes(described(), replace(described(), outputs={})))
    assert HERE


@dataclass(frozen=True)
class HadoopPath:
    """A path as Hadoop has it."""

    path: Path

    def getName(self) -> str:  # noqa: N802
        return self.path.name

    def getPath(self) -> HadoopPath:  # noqa: N802
        return self

    def getFileSystem(self, files: Files) -> Files:  # noqa: N802
        return files


@dataclass
class Files:
    """A directory as a file system of Hadoop; whoever creates a file is held up at `created`."""

    replaces: bool
    """Whether a rename replaces a file, as it does on a local disk; otherwise it is refused."""
    created: list[Callable[[], None]] = field(default_factory=list)

    def exists(self, path: HadoopPath) -> bool:
        return path.path.exists()

    def listStatus(self, path: HadoopPath) -> list[HadoopPath]:  # noqa: N802
        return [HadoopPath(each) for each in path.path.iterdir()]

    def open(self, path: HadoopPath) -> Any:
        return path.path.open("rb")

    def create(self, path: HadoopPath) -> Any:
        stream, hold_up = path.path.open("wb"), self.created.pop() if self.created else lambda: None

        def close() -> None:
            stream.close()
            hold_up()

        return SimpleNamespace(write=stream.write, close=close)

    def rename(self, one: HadoopPath, other: HadoopPath) -> bool:
        if not one.path.exists() or (other.path.exists() and not self.replaces):
            return False
        one.path.replace(other.path)
        return True

    def delete(self, path: HadoopPath, _: bool) -> None:
        path.path.unlink(missing_ok=True)


@pytest.fixture(params=[True, False], ids=["renames replace", "renames do not replace"])
def files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Files:
    """The file system of checkpoints, without a JVM."""
    known = {
        "org.apache.hadoop.fs.Path": lambda text: HadoopPath(Path(text)),
        "org.apache.commons.io.IOUtils": SimpleNamespace(toString=lambda stream, _: stream.read().decode()),
    }
    monkeypatch.setattr(checkpoints, "Jvm", SimpleNamespace(of=lambda _: known.__getitem__))
    return Files(request.param)


def at(files: Files, place: Path) -> Checkpoint:
    place.mkdir(exist_ok=True)
    spark: Any = SimpleNamespace(_jsc=SimpleNamespace(hadoopConfiguration=lambda: files))
    return Checkpoint(spark, str(place), HERE)


def claims(checkpoint: Checkpoint, now: About, outcomes: list[str]) -> None:
    """Claim a checkpoint, and note the workflow if that succeeds and the code if it does not."""
    try:
        checkpoint.claim(now)
        outcomes.append(now.workflow)
    except JobError as error:
        outcomes.append(error.code)


def test_of_two_first_claims_the_quicker_one_wins(files: Files, tmp_path: Path) -> None:
    outcomes: list[str] = []
    checkpoint, other = at(files, tmp_path / "c"), replace(described(), workflow="other")
    files.created.append(lambda: claims(checkpoint, other, outcomes))
    claims(checkpoint, described(), outcomes)
    assert outcomes == ["other", "checkpoint-of-another-query"]
    assert [each.name for each in (tmp_path / "c").iterdir()] == ["catchment.json"]
    checkpoint.claim(other)


def test_of_two_first_claims_at_the_same_time_one_wins(files: Files, tmp_path: Path) -> None:
    outcomes: list[str] = []
    checkpoint, other = at(files, tmp_path / "c"), replace(described(), workflow="other")
    has_created, has_cleared = threading.Event(), threading.Event()

    def hold_up() -> None:
        has_created.set()
        assert has_cleared.wait(60)

    def let_on() -> None:
        has_cleared.set()
        first.join()

    files.created += [let_on, hold_up]
    first = threading.Thread(target=claims, args=(checkpoint, described(), outcomes))
    first.start()
    assert has_created.wait(60)
    claims(checkpoint, other, outcomes)
    assert outcomes == ["checkpoint-of-another-query", "other"]


def test_a_checkpoint_that_does_not_know_its_datasets_gets_to_know_them(files: Files, tmp_path: Path) -> None:
    checkpoint = at(files, tmp_path / "c")
    checkpoint.claim(replace(described(), identities={}))
    checkpoint.claim(described())
    checkpoint.claim(described())
    with pytest.raises(JobError) as caught:
        checkpoint.claim(replace(described(), identities={"source": "id-2"}))
    assert caught.value.code == "source-history-gone"
