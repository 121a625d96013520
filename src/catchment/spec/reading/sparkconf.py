"""Spark settings: every published form of `sparkConf`, and what driver and executor mean in Spark's own keys."""

from __future__ import annotations

from collections.abc import Mapping

from catchment.spec.findings import Findings
from catchment.spec.grammar.job import Driver, FlareSpec
from catchment.spec.tree import Entry, ListNode, MapNode


def settings_as_map(stack: MapNode, findings: Findings) -> MapNode:
    """`stackSpec` with `sparkConf` as one mapping, whether it was a mapping or a list of them."""
    entry = stack.entries.get("sparkConf")
    if entry is None or not isinstance(entry.node, ListNode):
        return stack
    settings: dict[str, Entry] = {}
    for item in entry.node.items:
        if not isinstance(item, MapNode):
            findings.error("wrong-type", "an item of `sparkConf` wants a mapping", item.where, "write `- key: value`")
            continue
        for key, setting in item.entries.items():
            if key in settings:
                message = f"`{key}` is given twice; the first is on line {settings[key].where.line}"
                findings.error("duplicate-key", message, setting.where, "keep one of them")
            settings[key] = setting
    return stack.having("sparkConf", Entry(entry.where, MapNode(entry.node.where, settings)))


def spark_conf(flare: FlareSpec, stack: MapNode, findings: Findings) -> Mapping[str, str]:
    """All settings of a job; what `sparkConf` says goes before driver and executor."""
    own = dict(flare.spark_conf or {})
    sized = {**_sized("driver", flare.driver), **_sized("executor", flare.executor)}
    if flare.executor and flare.executor.instances:
        sized["spark.executor.instances"] = str(flare.executor.instances)
    conf = stack.get("sparkConf")
    for key in sized.keys() & own.keys():
        if sized[key] != own[key] and isinstance(conf, MapNode):
            message = f"`{key}` is {own[key]} here and {sized[key]} by driver or executor; this one is taken"
            findings.warning("given-twice", message, conf.key_where(key))
    return {**sized, **own}


def _sized(role: str, settings: Driver | None) -> dict[str, str]:
    if settings is None:
        return {}
    found = {
        f"spark.{role}.cores": settings.cores,
        f"spark.{role}.memory": settings.memory,
        f"spark.kubernetes.{role}.limit.cores": settings.core_limit,
    }
    return {key: str(value) for key, value in found.items() if value is not None}
