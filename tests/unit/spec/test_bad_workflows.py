"""Bad workflow files: each is refused with one code, at one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import plan
from catchment.spec.composer import MAX_DEPTH, MAX_MENDED
from catchment.spec.document import MAX_BYTES
from tests.unit.spec.marked import GOOD, HEAD, JOB, changed, load_text, unmarked

INPUT = '{name: trips, dataset: "dataos://raw:none/trips?acl=r", format: json}'
STEP = "{name: clean, sql: select * from trips}"
OUTPUT = '{name: clean, dataset: "dataos://lake:a/b?acl=rw", options: {saveMode: append}}'
DATASET = 'dataset: "dataos://raw:none/trips?acl=r", format: json'
TARGET = 'dataset: "dataos://lake:a/b?acl=rw"'
OPTIONS = "options: {saveMode: append}"
SPEC = "        stack: flare:7.0\n"
STACK = "          job:\n"
SECOND = JOB.replace("name: one", "name: two").replace("lake:a/b", "lake:a/c")


def spec(extra: str) -> str:
    return changed(SPEC, SPEC + extra)


def stack(extra: str) -> str:
    return changed(STACK, extra + STACK)


def options(extra: str) -> str:
    return changed(OPTIONS, "options: {saveMode: append, " + extra + "}")


def iceberg(partition: str, sql: str = "select * from trips") -> str:
    text = options("iceberg: {partitionSpec: [" + partition + "]}")
    return changed("sql: select * from trips", f"sql: {sql}", text)


def action(text: str) -> str:
    return changed(STACK, STACK + f"            actions: [{text}]\n")


def merge(on: str, when: str) -> str:
    clauses = "{onClause: " + on + ", whenClause: " + when + "}"
    return changed(OPTIONS, "options: {saveMode: overwrite, iceberg: {merge: " + clauses + "}}")


def node(extra: str) -> str:
    return changed("    - name: one\n", f"    - name: one\n{extra}")


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 5)]
    return "\n".join(lines) + "\na5: &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, §*a4, *a4]\n"


SYNTAX = {
    "an empty file": ("empty-file", "§"),
    "only a comment": ("empty-file", "§# nothing\n"),
    "a tab": ("yaml-tab", "name: taxi\nworkflow:\n§\tdag: []\n"),
    "an open quote": ("yaml-syntax", 'name: taxi\nversion: §"v1\ntype: workflow\n'),
    "an open bracket": ("yaml-syntax", "name: taxi\ntags: §[a, b\n"),
    "a stray colon": ("yaml-syntax", GOOD + "description: it's a note§: this # or so\n"),
    "a value and a block": (
        "value-and-block",
        changed("sequence:\n                  -", "sequence: last # why\n\n                  §-"),
    ),
    "a value and a mapping": ("value-and-block", changed("workflow:\n  dag:", "workflow: w\n  dag§:")),
    "wrong indentation": ("yaml-syntax", "a:\n  b: 1\n §c: 2\n"),
    "two documents": ("several-documents", GOOD + "§---\nname: b\n"),
    "a control character": ("yaml-character", "name: ta§\x07xi\n"),
    "a list as key": ("bad-key", GOOD + "§[a]: 1\n"),
    "an unfilled template": ("bad-key", changed("name: taxi", "name: {§{name of the workflow}}")),
    "a duplicate key": ("duplicate-key", GOOD + "§name: again\n"),
    "a duplicate key far below": ("duplicate-key", changed("name: clean, sql", "name: a, §name: clean, sql")),
    "a duplicate key without a value": (
        "duplicate-key",
        changed("- sequence:\n", "- sequence:\n                §sequence:\n"),
    ),
    "a Python object": ("yaml-tag", changed("name: taxi", "name: §!!python/object/apply:os.system [ls]")),
    "a private tag": ("yaml-tag", changed("version: v1", "version: §!secret v1")),
    "an unknown alias": ("unknown-alias", changed("version: v1", "version: §*nobody")),
    "a value that contains itself": ("unknown-alias", "a: &a [§*a]\n"),
    "a merge of text": ("bad-merge", "a: &a text\nb:\n  §<<: *a\n"),
    "an alias bomb": ("too-many-values", bomb()),
    "deep lists": ("too-deep", "[" * (MAX_DEPTH + 1) + "§" + "[" * 100_000),
    "deep mappings": (
        "too-deep",
        "".join(f"{' ' * n}a:\n" for n in range(MAX_DEPTH)) + " " * MAX_DEPTH + "a: §{b: 1}\n",
    ),
    "a file too large": ("file-too-large", "§name: " + "x" * MAX_BYTES),
}

SHAPE = {
    "text in place of the file": ("wrong-type", "§just text\n"),
    "no name": ("missing-field", "§" + changed("name: taxi\n", "")),
    "no workflow": ("missing-field", "§name: a\nversion: v1\ntype: workflow\n"),
    "no dag": ("missing-field", "name: a\nversion: v1\ntype: workflow\n§workflow: {title: x}\n"),
    "an empty dag": ("bad-value", "name: a\nversion: v1\ntype: workflow\nworkflow: {dag: §[]}\n"),
    "a dag of text": ("wrong-type", "name: a\nversion: v1\ntype: workflow\nworkflow: {dag: §one}\n"),
    "a job of text": ("wrong-type", HEAD + "    - §one\n" + JOB),
    "an unknown key": ("unknown-key", GOOD + "§ownr: me\n"),
    "an unknown key of a job": ("unknown-key", node("      §dependsOn: x\n")),
    "an unknown key of an output": ("unknown-key", changed(OPTIONS, "§option: {}, " + OPTIONS)),
    "an unknown version": ("bad-value", changed("version: v1", "version: §v9")),
    "another resource": ("unsupported-resource", changed("type: workflow", "type: §depot")),
    "an upper-case name": ("bad-name", changed("name: taxi", "name: §Taxi_Data")),
    "a long name": ("bad-name", changed("name: taxi", f"name: §{'x' * 49}")),
    "a bad job name": ("bad-name", changed("name: one", "name: §one/two")),
    "a job without name": ("missing-field", HEAD + "    - §title: nameless\n" + JOB.split("\n", 1)[1]),
    "a job without spec": ("missing-field", GOOD + "    - §name: two\n"),
    "a spec without stack": ("missing-field", changed(SPEC, "").replace("spec:", "§spec:")),
    "a spec of text": ("wrong-type", GOOD + "    - name: two\n      spec: §flare\n"),
    "no stackSpec": ("missing-field", GOOD + "    - name: two\n      §spec: {stack: flare}\n"),
    "no job in stackSpec": ("missing-field", GOOD + "    - name: two\n      spec: {stack: flare, §stackSpec: {}}\n"),
    "spec and file": ("spec-and-file", node("      §file: other.yaml\n")),
    "side effects that are retried": (
        "side-effects-repeated",
        changed(STACK, STACK + "            §sideEffects: true\n", node("      retry: {count: 2}\n")),
    ),
    "side effects that are rerun": (
        "side-effects-repeated",
        changed(
            STACK,
            STACK + "            §sideEffects: true\n",
            changed(OPTIONS, "conflict: rerun, options: {saveMode: overwrite}"),
        ),
    ),
    "a flag that is none": (
        "wrong-type",
        stack("").replace("            inputs:", "            explain: §on\n            inputs:"),
    ),
    "a bad log level": ("bad-value", spec("        logLevel: §LOUD\n")),
    "envs as a list": ("wrong-type", spec("        envs: §[A, B]\n")),
    "an empty environment value": ("wrong-type", spec("        envs: {A: §}\n")),
    "a bad amount of memory": ("bad-memory", stack("          driver: {memory: §much}\n")),
    "no cores": ("bad-value", stack("          executor: {cores: §0}\n")),
    "cores as a flag": ("wrong-type", stack("          executor: {cores: §true}\n")),
    "sparkConf of text": ("wrong-type", stack("          sparkConf: [§spark.a=1]\n")),
    "sparkConf twice in one mapping": ("duplicate-key", stack("          sparkConf: {spark.a: 1, §spark.a: 2}\n")),
    "an input without dataset": ("missing-field", changed(INPUT, "§{name: trips}")),
    "an input without name": (
        "missing-field",
        changed(INPUT, '§{dataset: "dataos://a:b/c"}').replace(STEP, "{name: clean, sql: select 1}"),
    ),
    "an input that is no view": ("bad-view-name", changed("name: trips", "name: §my-trips")),
    "a step without SQL": ("missing-field", changed(STEP, "§{name: clean}")),
    "a sequence of text": ("wrong-type", changed(f"- sequence:\n                  - {STEP}", "- sequence: §clean")),
    "an output without dataset": ("missing-field", changed(OUTPUT, "§{name: clean, " + OPTIONS + "}")),
    "an output with a slash": ("bad-output-name", changed("{name: clean, dataset", "{name: §a/b, dataset")),
    "a bad schemaType": ("bad-value", changed("format: json", "format: json, schemaType: §proto")),
}

MEANING = {
    "a bad saveMode": ("bad-save-mode", changed("saveMode: append", "saveMode: §apend")),
    "a bad overwrite-mode": ("bad-value", options("iceberg: {properties: {overwrite-mode: §dinamic}}")),
    "a bad transform": ("bad-transform", iceberg("{type: §weekly, column: a}")),
    "buckets without number": ("missing-field", iceberg("§{type: bucket, column: a}")),
    "truncate without width": ("missing-field", iceberg("§{type: truncate, column: a}")),
    "a partition named as its column": ("partition-name-is-column", iceberg("{type: day, column: day, name: §day}")),
    "a partition named as another column": (
        "partition-name-is-column",
        iceberg("{type: day, column: ts, name: §vendor}, {type: identity, column: vendor}"),
    ),
    "a partition named as a selected column": (
        "partition-name-is-column",
        iceberg("{type: day, column: ts, name: §ts_day}", "'select ts, date(ts) as ts_day from trips'"),
    ),
    "two ways to partition": (
        "given-twice",
        options("§partitionBy: [a], iceberg: {partitionSpec: [{type: day, column: b}]}"),
    ),
    "a bad sort mode": ("bad-value", options("sort: {mode: §local, columns: [{name: a}]}")),
    "a sort without columns": ("missing-field", options("§sort: {mode: global}")),
    "an output without source": (
        "output-without-source",
        changed(OUTPUT, OUTPUT + "\n              - " + OUTPUT.replace("clean", "§other")),
    ),
    "an output twice": ("duplicate-output", changed(OUTPUT, OUTPUT + "\n              - §" + OUTPUT)),
    "an input twice": (
        "duplicate-input",
        changed(INPUT, INPUT + "\n              - " + INPUT.replace("name: ", "name: §")),
    ),
    "a step twice": (
        "duplicate-step",
        changed(STEP, STEP + "\n                  - " + STEP.replace("name: ", "name: §")),
    ),
    "a job twice": ("duplicate-job", GOOD + JOB.replace("name: one", "name: §one")),
    "an unknown dependency": ("unknown-dependency", GOOD + SECOND + "      dependencies: [one, §oen]\n"),
    "an unknown bare dependency": ("unknown-dependency", node("      dependencies: §zero\n")),
    "a job that waits for itself": ("self-dependency", node("      dependencies: [§one]\n")),
    "retry twice": (
        "given-twice",
        node("      retry: {count: 1}\n").replace(SPEC, SPEC + "        §retry: {count: 2}\n"),
    ),
    "a bad retry strategy": ("bad-value", node("      retry: {strategy: §Sometimes}\n")),
    "a negative retry count": ("bad-value", node("      retry: {count: §-1}\n")),
    "a bad retry duration": ("bad-duration", node("      retry: {duration: §soon}\n")),
    "an unknown key of a typed input": (
        "unknown-key",
        changed(DATASET, "inputType: file, file: {path: /a.csv, §host: b}"),
    ),
    "a typed input with two formats": (
        "given-twice",
        changed(DATASET, "inputType: file, format: csv, file: {path: /a.csv, §format: json}"),
    ),
    "a typed input without a path": (
        "missing-field",
        changed("{name: trips, " + DATASET, "§{name: trips, inputType: file, file: {format: csv}"),
    ),
    "neither steps nor a sink": (
        "missing-field",
        changed("              - sequence:\n", "              - §{}\n              - sequence:\n"),
    ),
    "stackSpec twice": ("given-twice", changed(SPEC, SPEC + "        §flare: {}\n")),
    "schema twice": (
        "given-twice",
        changed("format: json}", "format: json, schemaString: a INT, §schemaPath: 'dataos://a:b/c'}"),
    ),
    "format twice": ("given-twice", changed("format: json}", "format: json, §type: csv}")),
    "a file that is not there": ("file-not-found", GOOD + "    - name: two\n      file: §nowhere.yaml\n"),
    "a file that names itself": ("file-cycle", GOOD + "    - name: two\n      file: §workflow.yaml\n"),
    "an SQL file that is not there": ("file-not-found", changed("sql: select * from trips", "sqlFile: §nowhere.sql")),
    "a step file that is not there": (
        "file-not-found",
        changed("- sequence:", "- §nowhere.yaml\n              - sequence:"),
    ),
    "an unset variable": ("unset-variable", changed("lake:a/b", "lake:a/§${NOBODY}")),
    "an unknown window key": (
        "unknown-incremental-key",
        changed(
            "format: json",
            "incremental: {context: c, sql: select $|a|, keys: [{name: a, sql: 'select §$|end|'}]}",
        ),
    ),
    "a state of an unknown key": (
        "unknown-incremental-key",
        changed(
            "format: json",
            "incremental: {context: c, sql: select 1, keys: [{name: a, sql: select 1}], state: [{key: a, value: §b}]}",
        ),
    ),
    "a merge without a condition": ("bad-merge-clause", merge("'§ ON '", "MATCHED THEN DELETE")),
    "a merge without MATCHED": ("bad-merge-clause", merge("old.a = new.a", "§UPDATE SET *")),
    "a merge that appends": (
        "merge-and-append",
        merge("old.a = new.a", "MATCHED THEN DELETE").replace("saveMode: overwrite", "saveMode: §append"),
    ),
    "two names for the table": ("merge-aliases", merge("§old.a = new.a", "MATCHED AND target.b = 1 THEN DELETE")),
    "two names for the view": ("merge-aliases", merge("§old.a = new.a", "MATCHED THEN UPDATE SET b = source.b")),
    "two merges": (
        "given-twice",
        merge("old.a = new.a", "MATCHED THEN DELETE").replace(
            "options: {", "options: {§merge: {onClause: old.a = new.a, whenClause: MATCHED THEN DELETE}, "
        ),
    ),
    "an unknown action": ("unknown-action", action("{name: §delete_from, input: trips, deleteWhere: 'true'}")),
    "an action on no input": (
        "unknown-action-input",
        action("{name: delete_from_dataset, input: §clean, deleteWhere: 'true'}"),
    ),
    "a deletion of what": ("missing-field", action("§{name: delete_from_dataset, input: trips}")),
    "an action without a name": ("missing-field", action("§{input: trips, deleteWhere: 'true'}")),
    "an unknown sink output": (
        "unknown-output",
        changed(
            "              - sequence:",
            "              - sink: [{sequenceName: clean, §outputName: x, datasetName: y}]\n                sequence:",
        ),
    ),
}
SCHEDULE = {
    "a bad cron": ("bad-cron", "{cron: §'61 * * * *'}"),
    "a cron of seven fields": ("bad-cron", "{cron: §'0 0 3 * * * 2030'}"),
    "a random cron": ("bad-cron", "{cron: §'R * * * *'}"),
    "a day that never comes": ("bad-cron", "{cron: §'0 0 30 2 *'}"),
    "a bad catchup": ("bad-value", "{cron: '0 3 * * *', catchup: §some}"),
    "a bad time zone": ("bad-timezone", "{cron: '0 3 * * *', timezone: §Europe/Berlinn}"),
    "an end without zone": ("bad-timestamp", "{cron: '0 3 * * *', endOn: §2030-01-01}"),
    "an end that is no day": ("bad-timestamp", "{cron: '0 3 * * *', endOn: §'2030-13-41T00:00:00Z'}"),
    "a bad policy": ("bad-value", "{cron: '0 3 * * *', concurrencyPolicy: §Queue}"),
}
ACTIONS = {
    "a misspelt action": ("unknown-action", "{name: §rewrite_dataste}"),
    "a misspelt option": ("unknown-key", "{name: rewrite_dataset, options: {§strateggy: sort}}"),
    "an option of another action": ("unknown-key", "{name: rewrite_manifest, options: {§strategy: sort}}"),
    "a misspelt property": ("unknown-key", "{name: rewrite_dataset, options: {properties: {§rewrite-al: true}}}"),
    "an unknown strategy": ("bad-value", "{name: rewrite_dataset, options: {strategy: §zorder}}"),
    "an order without sort": ("options-conflict", "{name: rewrite_dataset, options: {§sortOrder: a}}"),
    "an order that is none": (
        "bad-sort-order",
        "{name: rewrite_dataset, options: {strategy: sort, sortOrder: §'hilbert(a)'}}",
    ),
    "no partition at all": ("bad-value", "{name: rewrite_dataset, options: {partitions: §[]}}"),
    "a partition without values": ("wrong-type", "{name: rewrite_dataset, options: {partitions: [§day]}}"),
    "rows to delete beside a rewrite": ("unknown-key", "{name: rewrite_dataset, §deleteWhere: 'true'}"),
    "two moments": (
        "options-conflict",
        "{name: expire_snapshots, options: {olderThanMillis: 1767225600000, §olderThanTimestamp: 2026-01-01}}",
    ),
    "a moment and snapshots": (
        "options-conflict",
        "{name: expire_snapshots, options: {snapshotIds: [1], §olderThanMillis: 1767225600000}}",
    ),
    "old and new spelling": (
        "given-twice",
        "{name: expire_snapshots, options: {§expireOlderThan: 1767225600000, olderThanMillis: 1767225600000}}",
    ),
    "two moments of orphans": (
        "options-conflict",
        "{name: remove_orphans, options: {olderThanMillis: 1767225600000, §olderThanTimestamp: 2026-01-01}}",
    ),
    "no moment": ("bad-timestamp", "{name: remove_orphans, options: {olderThanTimestamp: §yesterday}}"),
    "nothing retained": ("bad-value", "{name: expire_snapshots, options: {retainLast: §0}}"),
    "no deletes at once": ("bad-value", "{name: remove_orphans, options: {maxConcurrentDeletes: §0}}"),
    "an option of expiry": ("unknown-key", "{name: remove_orphans, options: {§retainLast: 1}}"),
}
STREAMING = {
    "continuous": ("unsupported-trigger", "{triggerMode: §Continuous}"),
    "an unknown trigger": ("bad-value", "{triggerMode: §Sometimes}"),
    "an unknown output mode": ("bad-value", "{outputMode: §replace}"),
    "no duration": ("missing-field", "{§triggerMode: processingtime}"),
    "a duration of the wrong trigger": ("misplaced-key", "{triggerMode: Once, §triggerDuration: 10 seconds}"),
    "not a duration": ("bad-duration", "{triggerMode: ProcessingTime, triggerDuration: §soon}"),
    "a duration of nothing": ("bad-duration", "{triggerMode: ProcessingTime, triggerDuration: §0 seconds}"),
    "batches without end": ("misplaced-key", "{§batchMode: true}"),
    "an option of nobody": ("unsupported-option", "{extraOptions: {§startingOffsets: latest}}"),
    "an unknown key of streaming": ("unknown-key", "{§trigger: Once}"),
}
NOT_YET = {
    "assertions": ("unsupported-assertions", STACK, STACK + "            §assertions: [{column: a, tests: []}]\n"),
    "profile": ("unsupported-profile", STACK, STACK + "            §profile: {level: basic}\n"),
    "udfs": ("unsupported-udfs", STACK, STACK + "            §udfs: {f: x}\n"),
    "a query as input": ("unsupported-query-input", "format: json", "format: json, §query: select 1"),
    "a schema registry": ("unsupported-schema-registry", "format: json", "format: json, §schemaId: 3"),
    "a Hudi input": ("unsupported-format", "format: json", "format: §Hudi"),
    "a typed input": ("unsupported-format", DATASET, "inputType: §bigquery, bigquery: {project: p, table: t}"),
    "a typed output": ("unsupported-format", TARGET, "outputType: §Pulsar, pulsar: {topic: t}"),
    "a Kafka input": ("unsupported-format", "format: json", "format: §kafkaavro"),
    "functions": ("unsupported-functions", STEP, "{name: clean, sql: select 1, §functions: [{name: drop}]}"),
    "commands": ("unsupported-commands", STEP, "{name: clean, sql: select 1, §commands: [{name: persist}]}"),
    "a class": ("unsupported-classpath", STEP, "{name: clean, §classpath: io.dataos.flare.Joiner}"),
    "assertions of an output": ("unsupported-assertions", OPTIONS, OPTIONS + ", §assertions: [{sql: select 1}]"),
    "bigquery": ("unsupported-bigquery", OPTIONS, "options: {saveMode: append, §bigquery: {temporaryBucket: b}}"),
    "soda": ("unsupported-stack", "stack: flare:7.0", "stack: §soda+python:1.0"),
    "a misspelt stack": ("unsupported-stack", "stack: flare:7.0", "stack: §flair:7.0"),
    "an unknown format": ("unknown-format", "format: json", "format: §jsn"),
}

COMPACTION = {
    "a compaction of nothing": ("missing-field", "§compaction: {}"),
    "a compaction with inputs": ("unknown-key", "compaction: {dataset: x, §inputs: []}"),
    "a compaction with a misspelt property": (
        "unknown-key",
        "compaction: {dataset: x, properties: {§rewrite-al: true}}",
    ),
    "a compaction with an order and no sort": ("options-conflict", "compaction: {dataset: x, §sortOrder: a}"),
}

CASES = {
    **SYNTAX,
    **SHAPE,
    **MEANING,
    **{
        name: (code, HEAD.replace("  dag:", f"  schedule: {schedule}\n  dag:") + JOB)
        for name, (code, schedule) in SCHEDULE.items()
    },
    **{
        name: (code, changed(STACK, STACK + f"            actions: [{action}]\n"))
        for name, (code, action) in ACTIONS.items()
    },
    **{
        f"streaming: {name}": (code, changed(STACK, STACK + f"            streaming: {streaming}\n"))
        for name, (code, streaming) in STREAMING.items()
    },
    "two checkpoints": (
        "given-twice",
        changed(STACK, STACK + "            streaming: {checkpointLocation: ./a}\n").replace(
            OPTIONS, "options: {saveMode: append, checkpointLocation: §./b}"
        ),
    ),
    **{
        name: (code, f"{HEAD}    - name: one\n      spec: {{stack: compaction, {stack}}}\n")
        for name, (code, stack) in COMPACTION.items()
    },
    "another mode of rewriteDataset": (
        "bad-value",
        changed(STACK, STACK + "            rewriteDataset: {mode: §half}\n"),
    ),
    **{f"not yet: {name}": (code, changed(old, new)) for name, (code, old, new) in NOT_YET.items()},
}


@pytest.mark.parametrize(("code", "marked"), CASES.values(), ids=CASES.keys())
def test_a_bad_workflow_is_refused_at_its_place(tmp_path: Path, code: str, marked: str) -> None:
    text, line, column = unmarked(marked)
    loaded = load_text(tmp_path, text)
    errors = [(d.code, d.where and (d.where.line, d.where.column)) for d in loaded.diagnostics if d.is_error]
    assert errors == [(code, (line, column))]
    assert all(d.hint for d in loaded.diagnostics if d.is_error)
    assert all(d.where and d.where.file == str(tmp_path / "workflow.yaml") for d in loaded.diagnostics)


def test_a_syntax_error_hides_nothing_that_can_be_read(tmp_path: Path) -> None:
    text = changed("sequence:\n", "sequence: last\n", changed("format: json", "format: jsn"))
    text = changed("type: workflow", "type: workflow\ntype: workflow\ndescription: a: b", text)
    text += "tags: [*nobody]\nowner: {{you}}\n"
    found = {d.code for d in load_text(tmp_path, text.replace("tags: [*nobody]\n", "")).diagnostics}
    assert found == {"duplicate-key", "yaml-syntax", "unknown-format", "value-and-block", "bad-key"}
    found = {d.code for d in load_text(tmp_path, text).diagnostics}
    assert found == {"yaml-syntax", "value-and-block", "duplicate-key", "unknown-alias"}  # nobody can read on here


def test_a_tab_in_front_of_a_comment_is_allowed(tmp_path: Path) -> None:
    text = changed("workflow:\n  dag:", "workflow:\n\t\t# the jobs\n\t# all of them\n  dag:")
    assert load_text(tmp_path, text).diagnostics == ()


def test_as_many_lines_are_mended_as_a_person_would_read(tmp_path: Path) -> None:
    text = "".join(f"a{number}: b: c\n" for number in range(MAX_MENDED + 5))
    assert [d.code for d in load_text(tmp_path, text).diagnostics] == ["yaml-syntax"] * MAX_MENDED


def test_an_unset_variable_is_reported_once(tmp_path: Path) -> None:
    text = changed("dataos://raw:none/trips?acl=r", "dataos://${DEPOT}:none/trips?acl=r")
    text = changed("sql: select * from trips", "sql: 'select * from ${TABLE}'", text)
    text = changed("saveMode: append", "saveMode: '${MODE}'", text)
    (tmp_path / "workflow.yaml").write_text(text)
    found = plan.prepare(tmp_path / "workflow.yaml", env={}).diagnostics
    assert [(d.code, d.message.split()[3]) for d in found] == [
        ("unset-variable", "DEPOT"),
        ("unset-variable", "TABLE"),
        ("unset-variable", "MODE"),
    ]
