"""Actions of a job, as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.spec.model import Delete, Expire, Job, Operation, RemoveOrphans, Rewrite, RewriteManifests
from tests.unit.spec.marked import changed, load_text, unmarked

JOB = "          job:\n"
OTHER = "              - {name: trips, "


def job_of(folder: Path, actions: str, text: str | None = None) -> tuple[Job, list[str]]:
    given = changed(JOB, f"{JOB}            actions: [{actions}]\n", *([text] if text else []))
    loaded = load_text(folder, given)
    assert loaded.workflow
    assert not [found for found in loaded.diagnostics if found.is_error]
    return loaded.workflow.jobs[0], [found.code for found in loaded.diagnostics]


@pytest.mark.parametrize(
    "action",
    [
        "{name: delete_from_dataset, input: trips, deleteWhere: target.id = 1}",
        "{name: delete_from_dataset, input: Trips, deleteWhere: where target.id = 1;}",
        "{name: delete_from_dataset, deleteWhere: target.id = 1}",
    ],
)
def test_a_deletion_names_its_input_and_its_rows(tmp_path: Path, action: str) -> None:
    job, warnings = job_of(tmp_path, action)
    [found] = job.actions
    assert (found.name, found.input) == ("delete_from_dataset", "trips")
    assert isinstance(found.operation, Delete)
    assert (found.operation.condition.sql.strip(), warnings) == ("target.id = 1", [])


def test_actions_of_one_kind_get_numbers(tmp_path: Path) -> None:
    job, _ = job_of(tmp_path, ", ".join(f"{{name: delete_from_dataset, deleteWhere: id = {n}}}" for n in (1, 2)))
    assert [action.name for action in job.actions] == ["delete_from_dataset", "delete_from_dataset-2"]


def test_a_job_of_actions_alone_needs_no_outputs(tmp_path: Path) -> None:
    outputs = '              - {name: clean, dataset: "dataos://lake:a/b?acl=rw", options: {saveMode: append}}\n'
    text = changed("            outputs:\n" + outputs, "")
    job, warnings = job_of(tmp_path, "{name: delete_from_dataset, deleteWhere: 'true', options: {a: b}}", text)
    assert (len(job.actions), warnings) == (1, ["ignored-key"])


NEW_YEAR = 1_767_225_600_000
"""2026 begins."""


@pytest.mark.parametrize(
    ("action", "operation"),
    [
        ("{name: rewrite_dataset}", Rewrite()),
        ("{name: rewrite_dataset, options: {strategy: Binpack}}", Rewrite()),
        (
            "{name: rewrite_dataset, options: {strategy: sort, sortOrder: 'zorder(a, b)'}}",
            Rewrite("sort", "zorder(a, b)"),
        ),
        ("{name: rewrite_dataset, options: {strategy: sort}}", Rewrite("sort")),
        (
            "{name: rewrite_dataset, options: {properties: {rewrite-all: true, target-file-size-bytes: 1048576}}}",
            Rewrite(properties={"rewrite-all": "true", "target-file-size-bytes": "1048576"}),
        ),
        ("{name: rewrite_manifest}", RewriteManifests(caching=True)),
        ("{name: rewrite_manifest, options: {useCaching: 'false'}}", RewriteManifests(caching=False)),
        ("{name: expire_snapshots}", Expire()),
        (f"{{name: expire_snapshots, options: {{olderThanMillis: '{NEW_YEAR}'}}}}", Expire(NEW_YEAR)),
        (f"{{name: expire_snapshots, options: {{expireOlderThan: {NEW_YEAR}}}}}", Expire(NEW_YEAR)),
        ("{name: expire_snapshots, options: {olderThanTimestamp: '2026-01-01 00:00:00'}}", Expire(NEW_YEAR)),
        (
            "{name: expire_snapshots, options: {olderThanTimestamp: '2026-01-01T01:00:00+01:00', retainLast: 3}}",
            Expire(NEW_YEAR, retain_last=3),
        ),
        (
            "{name: expire_snapshots, options: {snapshotIds: [1, '9007199254740993'], maxConcurrentDeletes: 8,"
            " streamDeleteResults: true}}",
            Expire(None, ("1", "9007199254740993"), 1, 8, stream=True),
        ),
        ("{name: remove_orphans}", RemoveOrphans()),
        ("{name: remove_orphans, options: {olderThan: '1767225600000'}}", RemoveOrphans(NEW_YEAR)),
        (
            "{name: remove_orphans, options: {olderThanTimestamp: 2026-01-01, location: data/x, dryRun: true,"
            " maxConcurrentDeletes: 2}}",
            RemoveOrphans(NEW_YEAR, "data/x", dry_run=True, deletes=2),
        ),
    ],
)
def test_maintenance_in_every_spelling(tmp_path: Path, action: str, operation: Operation) -> None:
    job, warnings = job_of(tmp_path, action)
    assert (job.actions[0].operation, job.actions[0].input, warnings) == (operation, "trips", [])


def test_only_files_with_such_rows_are_rewritten(tmp_path: Path) -> None:
    job, _ = job_of(tmp_path, "{name: rewrite_dataset, options: {where: where id > 3}}")
    operation = job.actions[0].operation
    assert isinstance(operation, Rewrite)
    assert operation.condition
    assert operation.condition.sql.strip() == "id > 3"
    assert (
        operation.condition.where.column == len("            actions: [{name: rewrite_dataset, options: {where: ") + 1
    )


def test_the_oldest_form_rewrites_everything(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, changed(JOB, f"{JOB}            rewriteDataset: {{mode: full}}\n"))
    assert loaded.workflow
    assert loaded.diagnostics == ()
    [action] = loaded.workflow.jobs[0].actions
    assert (action.name, action.operation) == ("rewrite_dataset", Rewrite(properties={"rewrite-all": "true"}))


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("{name: expire_snapshots, options: {olderThanMillis: §259200000}}", "ancient-moment"),
        ("{name: remove_orphans, options: {olderThan: §86400}}", "ancient-moment"),
    ],
)
def test_an_age_is_no_moment(tmp_path: Path, action: str, code: str) -> None:
    text, line, column = unmarked(changed(JOB, f"{JOB}            actions: [{action}]\n"))
    [found] = load_text(tmp_path, text).diagnostics
    assert found.where
    assert (found.code, found.is_error, found.where.line, found.where.column) == (code, False, line, column)


def test_a_compaction_is_a_rewrite_of_one_dataset(tmp_path: Path) -> None:
    text = """\
name: nightly
version: v1
type: workflow
workflow:
  dag:
    - name: merge
      spec:
        stack: compaction
        stackSpec:
          dataset: dataos://lake:raw/t?acl=rw
          partitions:
            - {day: 2026-03-01, region: __HIVE_DEFAULT_PARTITION__}
          properties: {rewrite-all: true}
"""
    loaded = load_text(tmp_path, text)
    assert loaded.workflow
    assert loaded.diagnostics == ()
    [job] = loaded.workflow.jobs
    [source], [action] = job.inputs, job.actions
    assert (job.stack, source.dataset, source.dataset_where.line) == ("compaction", "dataos://lake:raw/t?acl=rw", 10)
    assert (action.name, action.input) == ("rewrite_dataset", source.name)
    rewrite = action.operation
    assert isinstance(rewrite, Rewrite)
    assert rewrite.properties == {"rewrite-all": "true"}
    [partition] = rewrite.partitions
    assert dict(partition.values) == {"day": "2026-03-01", "region": None}
    assert partition.where is not None
    assert partition.where.line == 12


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("column: id, type: §bucket", "missing-field"),
        ("column: id, type: §truncate", "missing-field"),
        ("column: id, type: bucket, numBuckets: 4, §width: 4", "unknown-key"),
        ("column: id, type: §weekly", "bad-transform"),
    ],
)
def test_a_transform_has_its_argument_and_no_other(tmp_path: Path, field: str, code: str) -> None:
    action = f"{{name: partition_add, {field}}}"
    text = f"""\
name: change
version: v1
type: workflow
workflow:
  dag:
    - name: change
      spec:
        stack: toolbox
        stackSpec:
          dataset: dataos://lakehouse:raw01/trips?acl=rw
          action: {action}
"""
    text, line, column = unmarked(text)
    [found] = load_text(tmp_path, text).diagnostics
    assert found.where
    assert (found.code, found.where.line, found.where.column) == (code, line, column)
