"""Reads a workflow file into the canonical workflow and a list of its problems."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os.path import realpath
from pathlib import Path

from catchment.errors import InvalidFiles, Position
from catchment.spec.aliases import normalise_job, normalise_node
from catchment.spec.boundary import Boundary
from catchment.spec.document import read_file, read_text
from catchment.spec.findings import Findings
from catchment.spec.grammar import workflow as grammar
from catchment.spec.includes import Includes
from catchment.spec.model import Job, Loaded, Retry, Schedule, Workflow
from catchment.spec.reading.dag import DagItem, link
from catchment.spec.reading.jobs import read_job, retry_of
from catchment.spec.references import References
from catchment.spec.secret import Secret
from catchment.spec.tree import MapNode, Node, ScalarNode, child, follow, items, text
from catchment.spec.validation import parse
from catchment.spec.variable_value import Value
from catchment.spec.variables import filled, names_in, read_variables, values_of

MAX_FILES_DEEP = 32


def load(
    path: Path,
    *,
    env: Mapping[str, str] | None = None,
    boundary: Boundary | None = None,
    variables: Mapping[str, Value] | None = None,
    given: Mapping[str, str] | None = None,
) -> Loaded:
    """Read a workflow file; its problems become diagnostics, all of them at once."""
    findings = Findings()
    surroundings = _Surroundings(
        os.environ if env is None else env,
        boundary or Boundary.around(path.parent),
        findings,
        outer=variables or {},
        given=given or {},
    )
    workflow = _Loading(path, surroundings).workflow()
    secrets = tuple(dict.fromkeys(surroundings.secrets))
    values = {name: value.text if value else None for name, value in surroundings.variables.items()}
    files = (path, *sorted(surroundings.boundary.asked))
    return Loaded(workflow, findings.in_order(str(path)), secrets, findings.settled, values, files)


@dataclass
class _Surroundings:
    """What a workflow file shares with the files that it includes."""

    env: Mapping[str, str]
    boundary: Boundary
    findings: Findings
    secrets: list[Secret] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)
    """The workflow files that were read."""
    outer: Mapping[str, Value] = field(default_factory=dict)
    """The variables of the project."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Values that the run gives to variables."""
    variables: dict[str, Value | None] = field(default_factory=dict)
    """The variables that the files declare; None for one whose value is wrong or missing."""

    def declare(self, node: Node | None, references: References) -> None:
        """Add the variables of a file. An included file shares those of the files that include it."""
        declared = read_variables(filled(node, references), self.findings)
        for name in (each for each in declared if each in self.outer):
            message = f"catchment.yaml declares the variable `{name}` for all workflows"
            self.findings.error("duplicate-variable", message, declared[name].where, "remove it here, or there")
        new = {name: each for name, each in declared.items() if name not in self.variables}
        values = values_of(new, self.given, self.findings)
        self.variables |= {name: values.get(name) for name in names_in(node) if name not in self.variables}

    def references(self, base: Path) -> References:
        """The `References` of a file whose relative paths start at `base`."""
        return References(
            self.env,
            self.findings,
            lambda name, where: self.boundary.read(base / name, where),
            secrets=self.secrets,
            variables=ChainMap(self.variables, {**self.outer}),
        )


class _Loading:
    """One workflow file while it is read; `parent` is the file that includes it."""

    def __init__(self, path: Path, surroundings: _Surroundings, parent: _Loading | None = None) -> None:
        self._path = path
        self._surroundings = surroundings
        self._findings = surroundings.findings
        self._chain: tuple[Path, ...] = parent._chain if parent else ()
        self._references = surroundings.references(path.parent)
        self._includes = Includes(path.parent, surroundings.boundary, self._references, self._findings)

    def workflow(self, asked_at: Position | None = None) -> Workflow | None:
        try:
            boundary = self._surroundings.boundary
            text = boundary.read(self._path, asked_at) if asked_at else read_file(self._path)
            if asked_at and self._is_refused(asked_at):
                return None
            root = read_text(text, str(self._path), self._findings).root
            if isinstance(root, MapNode) and "vars" in root.entries:
                self._surroundings.declare(root.get("vars"), self._references)
        except InvalidFiles as error:
            self._findings.extend(error.diagnostics)
            return None
        return self._read(self._references.fill(root) if "${" in text else root)

    def _is_refused(self, asked_at: Position) -> bool:
        """Whether a sub-workflow includes itself or is already included, so that job names would repeat."""
        file = Path(realpath(self._path))
        if file in self._chain:
            names = " -> ".join(each.name for each in (*self._chain, file))
            message = f"workflow files include each other in a cycle: {names}"
            self._findings.error("file-cycle", message, asked_at, "remove one `file:`")
        elif file in self._surroundings.seen:
            message = f"{self._path} is part of the workflow already"
            self._findings.error("duplicate-file", message, asked_at, "depend on the jobs that are there")
        elif len(self._chain) >= MAX_FILES_DEEP:
            message = f"workflow files are nested deeper than {MAX_FILES_DEEP} levels"
            self._findings.error("too-deep", message, asked_at, "put jobs into fewer files")
        else:
            return False
        return True

    def _read(self, root: Node) -> Workflow | None:
        self._chain = (*self._chain, Path(realpath(self._path)))
        self._surroundings.seen.add(self._chain[-1])
        given, found = parse(grammar.Resource, root)
        self._findings.extend(found)
        self._check_type(root)
        jobs = link(list(self._items(follow(root, ["workflow", "dag"]).node)), self._findings)
        return self._whole(given, root, jobs) if given else None

    def _whole(self, given: grammar.Resource, root: Node, jobs: tuple[Job, ...]) -> Workflow:
        return Workflow(
            name=given.name,
            file=str(self._path),
            where=root.where,
            version=given.version,
            title=given.title or given.workflow.title,
            description=given.description,
            tags=tuple(given.tags or ()),
            owner=given.owner,
            workspace=given.workspace or "public",
            schedule=self._schedule(given.workflow.schedule, root),
            jobs=jobs,
        )

    def _check_type(self, root: Node) -> None:
        kind = child(root, "type")
        if isinstance(kind, ScalarNode) and kind.text != "workflow":
            message = f"not supported yet: resources of type {kind.text}"
            self._findings.error("unsupported-resource", message, kind.where, "Catchment runs `type: workflow`")

    def _schedule(self, given: grammar.Schedule | None, root: Node) -> Schedule | None:
        if given is None:
            return None
        found = follow(root, ["workflow", "schedule"])
        if len(self._chain) > 1:
            message = "the schedule of a workflow inside another has no effect"
            self._findings.warning("ignored-key", message, found.key_where)
        elif given.timezone is None:
            message, hint = "the schedule names no time zone: UTC is used", "add `timezone: UTC` or another"
            self._findings.warning("no-timezone", message, found.key_where, hint)
        return Schedule(
            cron=given.cron,
            where=found.node.where,
            timezone=given.timezone,
            concurrency=given.concurrency_policy,
            end_on=given.end_on,
            catchup=given.catchup,
        )

    def _items(self, dag: Node) -> Iterator[DagItem]:
        for node in items(dag):
            item = self._item(node)
            if item:
                yield item

    def _item(self, node: Node) -> DagItem | None:
        if isinstance(node, MapNode):
            node = normalise_job(self._includes.inline(normalise_node(node, self._findings)), self._findings)
        given, found = parse(grammar.DagNode, node)
        self._findings.extend(found)
        if not isinstance(node, MapNode):
            return None
        if given and given.retry and not given.retry.count and len(given.retry.model_fields_set - {"count"}):
            message = "`retry` has no effect without a `count`"
            self._findings.warning("ignored-key", message, node.key_where("retry"), "add `count: 3`, or remove it")
        jobs = self._jobs(node, given)
        name = node.get("name")
        if not isinstance(name, ScalarNode) or not name.text:
            return None
        dependencies = [(text(item), item.where) for item in items(node.get("dependencies"))]
        return DagItem(name.text, name.where, tuple((name, at) for name, at in dependencies if name), jobs)

    def _jobs(self, node: MapNode, given: grammar.DagNode | None) -> tuple[Job, ...]:
        if "file" not in node.entries:
            job = read_job(node, given, self._findings)
            return (job,) if job else ()
        if "spec" in node.entries:
            message = "`spec` and `file` both say what the job runs"
            self._findings.error("spec-and-file", message, node.key_where("file"), "keep one of them")
            return ()
        file = text(node.get("file"))
        jobs = self._sub_workflow(self._path.parent / file, follow(node, ["file"]).node.where) if file else ()
        retry = retry_of(given.retry if given else None)
        for job in (each for each in jobs if each.side_effects and retry.count):
            message = f"`retry` has no effect on job `{job.name}`: it has side effects"
            self._findings.warning("ignored-key", message, node.key_where("retry"))
        tags, names = (given.tags or [], [given.name]) if given else ([], [])
        return tuple(
            replace(
                job,
                retry=retry if _takes(job, retry) else job.retry,
                tags=tuple(dict.fromkeys((*tags, *job.tags))),
                part_of=(*names, *job.part_of),
            )
            for job in jobs
        )

    def _sub_workflow(self, path: Path, asked_at: Position) -> tuple[Job, ...]:
        found = _Loading(path, self._surroundings, self).workflow(asked_at)
        return found.jobs if found else ()


def _takes(job: Job, retry: Retry) -> bool:
    """Whether a job takes the retry settings of the workflow file that it is part of."""
    return job.retry == Retry() and not (job.side_effects and retry.count)
