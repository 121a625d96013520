"""Outputs: from the grammar to the canonical model. `views` decides which view each one writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import cast

from catchment.errors import Position
from catchment.spec.findings import Findings
from catchment.spec.grammar import output as grammar
from catchment.spec.model import KeyColumn, Output, PartitionField, SaveMode, Sort, SortColumn, Transform
from catchment.spec.reading.merges import read_merge
from catchment.spec.reading.unsupported import is_supported
from catchment.spec.reading.views import Views
from catchment.spec.tree import MapNode, Node, follow, items
from catchment.spec.validation import parse

Selected = Callable[[Iterable[str]], set[str]]
"""Returns those of the given names that the written view visibly selects."""

_OPTIONS = grammar.OutputOptions()
_ICEBERG = grammar.IcebergOptions()
_PAIMON = grammar.PaimonOptions()
_MERGE_SCHEMA = ("mergeSchema", "merge-schema")
_ARGUMENT = {"bucket": "numBuckets", "truncate": "width"}


def read_outputs(job: MapNode, views: Views, findings: Findings) -> tuple[Output, ...]:
    """Every output of a job that can be read."""
    found = (_output(item, views, findings) for item in items(job.get("outputs")))
    return _numbered([one for one in found if one], findings)


def _numbered(outputs: list[Output], findings: Findings) -> tuple[Output, ...]:
    """Number the outputs that write the same view, so that every write has an id of its own."""
    unique: dict[str, Output] = {}
    for output in outputs:
        namesakes = [other for other in unique.values() if other.source == output.source]
        if any(_bare(other.dataset) == _bare(output.dataset) for other in namesakes):
            message = f"`{output.name}` is written to {_bare(output.dataset)} twice"
            findings.error("duplicate-output", message, output.where, "remove one of them")
        number = 2
        name = output.name
        while name in unique:
            name, number = f"{output.name}-{number}", number + 1
        unique[name] = replace(output, name=name)
    return tuple(unique.values())


def _bare(address: str) -> str:
    return address.partition("?")[0].rstrip("/")


def _output(node: Node, views: Views, findings: Findings) -> Output | None:
    given, found = parse(grammar.Output, node)
    findings.extend(found)
    if given is None or not isinstance(node, MapNode):
        return None
    if given.dataset is None:
        if is_supported(given.format):
            findings.error("missing-field", "`dataset` is missing", node.where, "add `dataset:` to the output")
        return None
    options = given.options or _OPTIONS
    extra = dict(options.extra_options or {})
    asked_merge = [extra.pop(key, "").lower() == "true" for key in _MERGE_SCHEMA]
    merge = read_merge(options, node, findings)
    mode = "merge" if merge else _mode(options, extra, node, findings)
    source = views.source_of(given.name, follow(node, ["name"]).node.where, findings)
    return Output(
        name=given.name,
        source=source,
        dataset=given.dataset,
        where=node.where,
        dataset_where=follow(node, ["dataset"]).node.where,
        format=given.format.lower() if given.format else None,
        mode=mode,
        partitions=_partitions(options, node, lambda names: views.columns_of(source, names), findings),
        primary_key=_primary_key(options, node),
        properties={key: value for key, value in _properties(options).items() if key != "overwrite-mode"},
        sort=_sort(options.sort),
        options=extra,
        option_places=_places(node, extra),
        compression=options.compression_type.lower() if options.compression_type else None,
        merge_schema=bool(options.merge_schema) or any(asked_merge),
        merge=merge,
        commit=given.commit or "buffered",
        conflict=given.conflict or "last-wins",
        linger=given.linger,
        title=given.title,
        description=given.description,
        tags=tuple(given.tags or ()),
    )


def _places(node: MapNode, extra: Mapping[str, str]) -> dict[str, Position]:
    of_table = ["options", "paimon" if "paimon" in _options_of(node) else "iceberg", "properties"]
    paths = [["conflict"], ["options", "compressionType"], of_table]
    paths += (["options", "extraOptions", name] for name in extra)
    return {path[-1]: follow(node, path).key_where for path in paths}


def _mode(options: grammar.OutputOptions, extra: dict[str, str], node: MapNode, findings: Findings) -> SaveMode:
    """append, overwrite, or overwrite of the partitions that the job produces."""
    how = {
        ("options", kind, "properties", "overwrite-mode"): (given.properties or {}).get("overwrite-mode", "static")
        for kind, given in _of_tables(options).items()
    } | {
        ("options", "extraOptions", "partitionOverwriteMode"): extra.pop("partitionOverwriteMode", "static"),
    }
    for path, mode in how.items():
        if mode.lower() not in ("dynamic", "static"):
            message, where = f"there is no {path[-1]} `{mode}`", follow(node, path).node.where
            findings.error("bad-value", message, where, "use `dynamic`, or leave it out")
    dynamic = any(mode.lower() == "dynamic" for mode in how.values())
    if options.save_mode is None:
        what = "replaces the partitions that the job produces" if dynamic else "replaces the whole dataset"
        where = node.key_where("options") if "options" in node.entries else node.where
        message = f"no saveMode is given; `overwrite` is taken, which {what}"
        findings.warning("no-save-mode", message, where, "add `saveMode: append` or `saveMode: overwrite` to `options`")
    if options.save_mode == "append":
        for path in (path for path, mode in how.items() if mode.lower() == "dynamic"):
            message = f"`{path[-1]}` has no effect on an append, which replaces nothing"
            findings.warning("ignored-key", message, follow(node, path).key_where, "remove it, or use `overwrite`")
        return "append"
    return "overwrite-partitions" if dynamic else "overwrite"


def _of_tables(options: grammar.OutputOptions) -> dict[str, grammar.IcebergOptions | grammar.PaimonOptions]:
    return {"iceberg": options.iceberg or _ICEBERG, "paimon": options.paimon or _PAIMON}


def _properties(options: grammar.OutputOptions) -> dict[str, str]:
    return {key: value for given in _of_tables(options).values() for key, value in (given.properties or {}).items()}


def _options_of(node: MapNode) -> Mapping[str, object]:
    options = node.get("options")
    return options.entries if isinstance(options, MapNode) else {}


def _primary_key(options: grammar.OutputOptions, node: MapNode) -> tuple[KeyColumn, ...]:
    columns = (options.paimon or _PAIMON).primary_key or []
    at = items(follow(node, ["options", "paimon", "primaryKey"]).node)
    return tuple(KeyColumn(column, item.where) for column, item in zip(columns, at, strict=False))


def _partitions(
    options: grammar.OutputOptions, node: MapNode, selected: Selected, findings: Findings
) -> tuple[PartitionField, ...]:
    spec = (options.iceberg or _ICEBERG).partition_spec or []
    own = (options.paimon or _PAIMON).partition_by
    path = ["options", "partitionBy"] if own is None else ["options", "paimon", "partitionBy"]
    columns = options.partition_by or own or []
    if own and options.partition_by:
        where = follow(node, path).key_where
        findings.error("given-twice", "`partitionBy` is given twice", where, "keep the one under `paimon`")
    if spec and columns:
        where = follow(node, ["options", "partitionBy"]).key_where
        hint = "use `partitionSpec` for Iceberg and `partitionBy` for files"
        findings.error("given-twice", "`partitionBy` and `partitionSpec` both partition the output", where, hint)
    at = follow(node, ["options", "iceberg", "partitionSpec"]).node
    fields = tuple(_field(part, part_node, findings) for part, part_node in zip(spec, items(at), strict=False))
    _check_names(fields, items(at), selected, findings)
    if fields:
        return fields
    by = follow(node, path).node
    return tuple(PartitionField("identity", name, item.where) for name, item in zip(columns, items(by), strict=False))


def _field(part: grammar.Partition, node: Node, findings: Findings) -> PartitionField:
    arguments = {"numBuckets": part.num_buckets, "width": part.width}
    wanted = _ARGUMENT.get(part.type)
    if wanted and arguments[wanted] is None:
        findings.error("missing-field", f"`{part.type}` needs `{wanted}`", node.where, f"add `{wanted}:`")
    for key, value in arguments.items():
        if value is not None and key != wanted:
            findings.warning("ignored-key", f"`{part.type}` takes no `{key}`", follow(node, [key]).key_where)
    argument = arguments[wanted] if wanted else None
    return PartitionField(cast(Transform, part.type), part.column, node.where, part.name, argument)


def _check_names(
    fields: tuple[PartitionField, ...], nodes: tuple[Node, ...], selected: Selected, findings: Findings
) -> None:
    """Report partition fields that have the name of a column, if the file shows that column."""
    named = [(field, node) for field, node in zip(fields, nodes, strict=False) if field.name and not _is_itself(field)]
    names = [str(field.name).lower() for field, _ in named]
    taken = {field.column.lower() for field in fields} | selected(names)
    for field, node in named:
        if str(field.name).lower() in taken:
            message = f"the partition is named `{field.name}`, which is a column of the data"
            free = next(name for name in _other_names(field) if name.lower() not in taken)
            hint = f"choose another name, such as `{free}`"
            findings.error("partition-name-is-column", message, follow(node, ["name"]).node.where, hint)


def _other_names(field: PartitionField) -> Iterator[str]:
    yield f"{field.column}_{field.transform}"
    yield from (f"{field.column}_{field.transform}_{number}" for number in count(2))


def _is_itself(field: PartitionField) -> bool:
    return field.transform == "identity" and field.name == field.column


def _sort(given: grammar.Sort | None) -> Sort | None:
    if given is None:
        return None
    columns = tuple(SortColumn(column.name, column.order == "desc") for column in given.columns)
    return Sort(given.mode, columns)
