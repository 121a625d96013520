"""Every published spelling becomes the one canonical form."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment.spec.model import Job, PartitionField, Retry
from tests.unit.spec.marked import GOOD, HEAD, JOB, changed, load_text

OPTIONS = "options: {saveMode: append}"
STACK = "          job:\n"


class Loader:
    """Loads texts; keeps the codes of what was found."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.warnings: list[str] = []

    def jobs(self, text: str) -> tuple[Job, ...]:
        loaded = load_text(self._folder, text)
        assert [d for d in loaded.diagnostics if d.is_error] == []
        assert loaded.workflow
        self.warnings = [d.code for d in loaded.diagnostics]
        return loaded.workflow.jobs

    def job(self, text: str) -> Job:
        return self.jobs(text)[0]


@pytest.fixture
def load(tmp_path: Path) -> Loader:
    return Loader(tmp_path)


def unplaced(fields: tuple[PartitionField, ...]) -> list[tuple[str, str, str | None, int | None]]:
    return [(field.transform, field.column, field.name, field.argument) for field in fields]


def test_the_plain_workflow_is_silent(load: Loader) -> None:
    job = load.job(GOOD)
    assert load.warnings == []
    assert (job.inputs[0].name, job.steps[0].name, job.outputs[0].source) == ("trips", "clean", "clean")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("stackSpec:", "flare:"),
        ("format: json", "type: json"),
        ("format: json", "format: JSON"),
        ('dataset: "dataos://lake:a/b?acl=rw"', 'depot: "dataos://lake:a/b?acl=rw"'),
        (OPTIONS, "outputOptions: {saveMode: append}"),
        (OPTIONS, "options: {saveMode: Append}"),
    ],
)
def test_plain_aliases_are_accepted_in_silence(load: Loader, old: str, new: str) -> None:
    plain, other = load.job(GOOD), load.job(changed(old, new))
    assert load.warnings == []
    assert other.inputs[0].format == plain.inputs[0].format == "json"
    assert other.outputs[0].dataset == plain.outputs[0].dataset
    assert other.outputs[0].mode == plain.outputs[0].mode == "append"


@pytest.mark.parametrize("written", ["one", "[one]", "\n        - one"])
def test_dependencies_are_a_list_or_a_word(load: Loader, written: str) -> None:
    second = JOB.replace("name: one", f"name: two\n      dependencies: {written}")
    _, two = load.jobs(GOOD + second)
    assert [name for name, _ in two.dependencies] == ["one"]


@pytest.mark.parametrize("place", ["    - name: one\n", "        stack: flare:7.0\n"])
def test_retry_stands_on_the_node_or_in_spec(load: Loader, place: str) -> None:
    indent = " " * (6 if "name" in place else 8)
    retry = "retry: {count: 3, strategy: Always, duration: 1m30s, maxDuration: 600}"
    job = load.job(changed(place, f"{place}{indent}{retry}\n"))
    assert job.retry == Retry(count=3, strategy="Always", pause=90.0, max_duration=600.0)


@pytest.mark.parametrize(
    "conf",
    [
        "          sparkConf: {spark.a: 1.10, spark.b: true}\n" + STACK,
        "          sparkConf:\n            - spark.a: 1.10\n            - spark.b: true\n" + STACK,
        "          sparkConfig:\n            - {spark.a: 1.10, spark.b: true}\n" + STACK,
    ],
)
def test_spark_conf_is_a_mapping_or_a_list(load: Loader, conf: str) -> None:
    assert load.job(changed(STACK, conf)).spark_conf == {"spark.a": "1.10", "spark.b": "true"}
    assert load.warnings == []


def test_spark_conf_inside_job_is_taken_with_a_warning(load: Loader) -> None:
    text = changed(STACK, STACK + "            sparkConf: [{spark.a: x}]\n")
    assert load.job(text).spark_conf == {"spark.a": "x"}
    assert load.warnings == ["misplaced-key"]


@pytest.mark.parametrize(
    ("written", "spark"),
    [("1024m", "1024m"), ("1Gi", "1024m"), ("2g", "2048m"), ("512M", "512m"), ("1.5Gi", "1536m"), ("768", "768m")],
)
def test_driver_and_executor_become_spark_settings(load: Loader, written: str, spark: str) -> None:
    sizes = (
        f"          driver: {{cores: 2, memory: {written}}}\n          executor: {{instances: 3, coreLimit: 1000m}}\n"
    )
    assert load.job(changed(STACK, sizes + STACK)).spark_conf == {
        "spark.driver.cores": "2",
        "spark.driver.memory": spark,
        "spark.executor.instances": "3",
        "spark.kubernetes.executor.limit.cores": "1000m",
    }


def test_spark_conf_goes_before_driver(load: Loader) -> None:
    sizes = "          driver: {cores: 2}\n          sparkConf: {spark.driver.cores: 4}\n"
    assert load.job(changed(STACK, sizes + STACK)).spark_conf == {"spark.driver.cores": "4"}
    assert load.warnings == ["given-twice"]


@pytest.mark.parametrize(
    "options",
    [
        "{saveMode: append, partitionSpec: [{type: days, column: a, asColumn: b}]}",
        "{saveMode: append, iceberg: {partitionSpec: [{type: Day, column: a, name: b}]}}",
        "{saveMode: append, delta: {partitionSpec: [{type: Day, column: a, name: b}]}}",
    ],
)
def test_partition_spec_is_found_where_it_stands(load: Loader, options: str) -> None:
    output = load.job(changed(OPTIONS, f"options: {options}")).outputs[0]
    assert unplaced(output.partitions) == [("day", "a", "b", None)]
    assert load.warnings == (["misplaced-key"] if "days" in options else [])


@pytest.mark.parametrize(
    "options", ["{saveMode: append, title: t, tags: [a]}", "{saveMode: append, iceberg: {title: t, tags: [a]}}"]
)
def test_title_and_tags_are_found_where_they_stand(load: Loader, options: str) -> None:
    output = load.job(changed(OPTIONS, f"options: {options}")).outputs[0]
    assert (output.title, output.tags) == ("t", ("a",))
    assert load.warnings == ["misplaced-key", "misplaced-key"]


def test_every_transform(load: Loader) -> None:
    fields = ", ".join(
        f"{{type: {kind}, column: c{n}{extra}}}"
        for n, (kind, extra) in enumerate(
            [
                ("identity", ""),
                ("year", ""),
                ("month", ""),
                ("hours", ""),
                ("bucket", ", numBuckets: 8"),
                ("truncate", ", width: 4"),
            ]
        )
    )
    output = load.job(
        changed(OPTIONS, f"options: {{saveMode: append, iceberg: {{partitionSpec: [{fields}]}}}}")
    ).outputs[0]
    assert [(field.transform, field.argument) for field in output.partitions] == [
        *(("identity", None), ("year", None), ("month", None), ("hour", None), ("bucket", 8), ("truncate", 4))
    ]


def test_partition_by_becomes_identity_transforms(load: Loader) -> None:
    output = load.job(changed(OPTIONS, "options: {saveMode: append, partitionBy: [a, b]}")).outputs[0]
    assert unplaced(output.partitions) == [("identity", "a", None, None), ("identity", "b", None, None)]


def test_an_identity_partition_may_have_its_columns_name(load: Loader) -> None:
    spec = "options: {saveMode: append, iceberg: {partitionSpec: [{type: identity, column: a, name: a}]}}"
    assert unplaced(load.job(changed(OPTIONS, spec)).outputs[0].partitions) == [("identity", "a", "a", None)]


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ("{saveMode: overwrite}", "overwrite"),
        ("{saveMode: overwrite, iceberg: {properties: {overwrite-mode: dynamic}}}", "overwrite-partitions"),
        ("{saveMode: overwrite, extraOptions: {partitionOverwriteMode: DYNAMIC}}", "overwrite-partitions"),
        ("{saveMode: append, iceberg: {properties: {overwrite-mode: dynamic}}}", "append"),
        ("{file: {saveMode: overwrite, outputType: parquet}}", "overwrite"),
    ],
)
def test_save_modes(load: Loader, options: str, mode: str) -> None:
    output = load.job(changed(OPTIONS, f"options: {options}")).outputs[0]
    assert output.mode == mode
    assert "partitionOverwriteMode" not in output.options
    assert output.format == ("parquet" if "outputType" in options else None)


def test_a_missing_save_mode_is_told(load: Loader) -> None:
    assert load.job(changed(OPTIONS, "options: {}")).outputs[0].mode == "overwrite"
    assert load.warnings == ["no-save-mode"]


@pytest.mark.parametrize(
    "options", ["mergeSchema: true", "extraOptions: {mergeSchema: 'true'}", "extraOptions: {merge-schema: true}"]
)
def test_merge_schema_is_asked_for_in_several_ways(load: Loader, options: str) -> None:
    output = load.job(changed(OPTIONS, f"options: {{saveMode: append, {options}}}")).outputs[0]
    assert output.merge_schema
    assert output.options == {}


def test_option_values_are_text_as_written(load: Loader) -> None:
    text = changed("format: json", "format: csv, options: {header: True, sep: 1.0, maxColumns: 0007, mode: no}")
    assert load.job(text).inputs[0].options == {"header": "true", "sep": "1.0", "maxColumns": "0007", "mode": "no"}


def test_the_old_schema_key_is_sparks_own(load: Loader) -> None:
    found = load.job(changed("format: json", 'format: json, schema: \'{"type": "struct"}\'')).inputs[0]
    assert (found.schema, found.schema_type) == ('{"type": "struct"}', "spark")
    found = load.job(changed("format: json", "format: json, schemaString: '{}'")).inputs[0]
    assert (found.schema, found.schema_type) == ("{}", "avro")


def test_the_oldest_window_form(load: Loader) -> None:
    keys = "[{name: start, default: 2020-01-01, updateFromKey: end}, {name: end, sql: select now()}]"
    text = changed("format: json", f"format: json, incremental: {{context: c, sql: select 1, keys: {keys}}}")
    window = load.job(text).inputs[0].incremental
    assert window
    assert [(key.name, key.sql.filled({})) for key in window.keys] == [
        ("start", "select '2020-01-01'"),
        ("end", "select now()"),
    ]
    assert window.state == {"start": "end"}


def test_sinks_become_outputs(load: Loader) -> None:
    how = "outputType: Iceberg, outputOptions: {saveMode: append}"
    sink = f"sink: [{{sequenceName: clean, datasetName: b, outputName: lake, {how}}}]"
    text = changed("              - sequence:", f"              - {sink}\n                sequence:")
    text = changed(
        '- {name: clean, dataset: "dataos://lake:a/b?acl=rw", options: {saveMode: append}}',
        '- {name: lake, depot: "dataos://lake:a?acl=rw"}',
        text,
    )
    output = load.job(text).outputs[0]
    assert (output.name, output.source, output.dataset, output.format, output.mode) == (
        *("clean", "clean", "dataos://lake:a/b?acl=rw", "iceberg", "append"),
    )
    assert load.warnings == ["legacy-sink"]


def test_a_sink_needs_no_sequence(load: Loader) -> None:
    text = changed(
        "              - sequence:\n                  - {name: clean, sql: select * from trips}\n",
        "              - sink: [{sequenceName: trips, datasetName: b, outputName: lake, outputType: iceberg}]\n",
    )
    text = changed(
        '{name: clean, dataset: "dataos://lake:a/b?acl=rw", options: {saveMode: append}}',
        "{name: lake, depot: 'dataos://lake:a/'}",
        text,
    )
    job = load.job(text)
    assert job.steps == ()
    assert [(output.source, output.dataset) for output in job.outputs] == [("trips", "dataos://lake:a/b")]
    assert load.warnings == ["legacy-sink", "no-save-mode"]


def test_typed_files_are_plain_datasets(load: Loader) -> None:
    text = changed(
        'dataset: "dataos://raw:none/trips?acl=r", format: json',
        "inputType: file, file: {path: /data/trips, format: JSON, isStream: false, options: {multiLine: true}}",
    )
    text = changed(
        'dataset: "dataos://lake:a/b?acl=rw", options: {saveMode: append}',
        "outputType: File, file: {path: /data/out, format: orc, options: {saveMode: append}}",
        text,
    )
    job = load.job(text)
    [source], [output] = job.inputs, job.outputs
    assert (source.dataset, source.format, source.options) == ("/data/trips", "json", {"multiLine": "true"})
    assert (output.dataset, output.format, output.mode) == ("/data/out", "orc", "append")
    assert load.warnings == []


def test_the_outer_of_two_partition_specs_is_not_applied(load: Loader) -> None:
    inner = "iceberg: {partitionSpec: [{type: day, column: a, name: b}]}"
    options = f"options: {{saveMode: append, {inner}, partitionSpec: [{{type: identity, column: c}}]}}"
    output = load.job(changed(OPTIONS, options)).outputs[0]
    assert unplaced(output.partitions) == [("day", "a", "b", None)]
    assert load.warnings == ["given-twice"]


def test_the_last_of_two_settings_wins(load: Loader) -> None:
    conf = "          sparkConf: [{spark.a: 1}, {spark.b: 2}, {spark.a: 3}]\n"
    assert load.job(changed(STACK, conf + STACK)).spark_conf == {"spark.a": "3", "spark.b": "2"}
    assert load.warnings == ["duplicate-key"]


def test_options_of_a_job_have_no_effect(load: Loader) -> None:
    load.job(changed(STACK, STACK + "            options: {SSL: 'true', cluster: system}\n"))
    assert load.warnings == ["ignored-key"]


def test_an_output_without_namesake_takes_the_only_input(load: Loader) -> None:
    text = changed(
        "            steps:\n              - sequence:\n                  - {name: clean, sql: select * from trips}\n",
        "",
    )
    assert load.job(text).outputs[0].source == "trips"
    assert load.warnings == ["output-takes-only-input"]


def test_one_view_may_feed_several_outputs(load: Loader) -> None:
    output = '- {name: clean, dataset: "dataos://lake:a/b?acl=rw", options: {saveMode: append}}'
    text = changed(output, output + "\n              " + output.replace("a/b", "a/c"))
    assert [(o.name, o.source) for o in load.job(text).outputs] == [("clean", "clean"), ("clean-2", "clean")]


def test_views_are_found_in_any_case(load: Loader) -> None:
    assert load.job(changed("{name: clean, dataset", "{name: CLEAN, dataset")).outputs[0].source == "clean"
    assert load.warnings == []


def test_a_step_that_hides_an_input_is_told(load: Loader) -> None:
    step = "- {name: clean, sql: select * from trips}"
    load.job(changed(step, "- {name: Trips, sql: select * from trips}\n                  " + step))
    assert load.warnings == ["step-hides-input"]


@pytest.mark.parametrize("key", ["secrets: [a]", "dataosSecrets: [{name: a}]", "dryRun: true", "configs: {a: b}"])
def test_ignored_cluster_settings_are_told(load: Loader, key: str) -> None:
    load.job(changed("        stack: flare:7.0\n", f"        stack: flare:7.0\n        {key}\n"))
    assert load.warnings == ["ignored-key"]


def test_cluster_bookkeeping_is_silent(load: Loader) -> None:
    extra = (
        "        compute: runnable-default\n        resources: {requests: {cpu: 1}}\n        runAsUser: me\n"
        "        topology: []\n        tempVolume: 1Gi\n        tier: connect\n        dryRun: false\n"
        "        persistentVolume: {name: v, directory: d}\n        dataosVolumes: [{name: v}]\n"
    )
    text = changed("        stack: flare:7.0\n", f"        stack: flare:7.0\n{extra}")
    text = text.replace("version: v1", "version: v1beta1\nowner: me\nlayer: user\nworkspace: lab")
    assert (
        load.job(changed("    - name: one\n", "    - name: one\n      gcWhenComplete: true\n", text)).compute
        == "runnable-default"
    )
    assert load.warnings == []


def test_a_schedule_without_a_zone_is_told(tmp_path: Path) -> None:
    text = HEAD.replace("  dag:", "  schedule: {cron: '0 3 * * *'}\n  dag:") + JOB
    assert [(d.code, d.is_error) for d in load_text(tmp_path, text).diagnostics] == [("no-timezone", False)]


def test_a_schedule_is_read(tmp_path: Path) -> None:
    schedule = (
        "{cron: '*/30 0 3 * * *', timezone: Europe/Berlin, concurrencyPolicy: Forbid, endOn: 2030-01-31T23:59:45Z, "
        "catchup: Last}"
    )
    loaded = load_text(tmp_path, HEAD.replace("  dag:", f"  schedule: {schedule}\n  dag:") + JOB)
    assert loaded.diagnostics == ()
    found = loaded.workflow and loaded.workflow.schedule
    assert found
    assert (found.cron, found.timezone, found.concurrency, found.end_on, found.catchup) == (
        *("*/30 0 3 * * *", "Europe/Berlin", "Forbid", "2030-01-31T23:59:45Z", "last"),
    )
