"""Parses YAML text into a tree, safely: bounded depth and alias expansion, no tags, no duplicate keys.

Scalars follow the YAML 1.2 core schema: `true`/`false`, whole numbers, numbers and `null` only. `on`, `yes` and dates
stay text. The tree is built from PyYAML's events, because its C composer recurses without a bound and takes the
process down on deep nesting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from catchment.errors import Diagnostic, InvalidFiles, Position
from catchment.spec.tree import Entry, ListNode, MapNode, Node, Plain, ScalarNode, WrittenFloat, WrittenInt
from catchment.spec.yaml_errors import syntax_flaw

try:
    from yaml import CSafeLoader as Loader
except ImportError:
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

MAX_DEPTH = 64
MAX_NODES = 1_000_000
"""How many values one file may have, counting every repetition by an alias."""

MAX_MENDED = 20
"""How many lines with syntax errors are mended in memory before giving up on the file."""

_NULL = re.compile(r"|~|null|Null|NULL")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,1000}|0o[0-7]{1,1000}|0x[0-9a-fA-F]{1,1000}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_STR_TAGS = ("!", "tag:yaml.org,2002:str")
_COLLECTION_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


@dataclass(frozen=True)
class Composed:
    """The tree of a text, and the problems that did not prevent reading it."""

    root: Node
    problems: tuple[Diagnostic, ...] = ()
    spoiled: tuple[Position, ...] = ()
    """Values that may have been misread, so any further diagnostic about them is meaningless."""


def compose(text: str, file: str) -> Composed:
    """Parse a text; `file` is the file name in positions. Raises `InvalidFiles` if the text cannot be read.

    A line whose syntax error has one sensible reading is mended in memory, so that the error does not hide problems
    in the rest of the file.
    """
    problems: list[Diagnostic] = []
    for _ in range(MAX_MENDED):
        composer = _Composer(text, file)
        try:
            root = composer.document()
            return Composed(root, (*problems, *composer.problems), tuple(composer.spoiled))
        except InvalidFiles as error:
            raise InvalidFiles([*problems, *error.diagnostics]) from error
        except yaml.YAMLError as error:
            flaw = syntax_flaw(error, text, file)
        if flaw.problem is not None:
            problems.append(flaw.problem)
        if flaw.mended is None:
            break
        text = flaw.mended
    raise InvalidFiles(problems)


class _Composer:
    """Builds the tree of one text from its YAML events and counts its values."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._events: Any = None
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._count = 0
        self.problems: list[Diagnostic] = []
        self.spoiled: list[Position] = []

    def document(self) -> Node:
        self._events = Loader(self._text)
        self._events.get_event()
        if self._events.check_event(StreamEndEvent):
            raise self._refusal("empty-file", "the file is empty", Position(self._file, 1, 1), "add a workflow to it")
        self._events.get_event()
        root = self._node(0)
        self._events.get_event()
        if not self._events.check_event(StreamEndEvent):
            where = self._position(self._events.peek_event())
            message = "the file holds more than one document"
            self._report("several-documents", message, where, "keep one workflow per file")
        return root

    def _node(self, depth: int) -> Node:
        event = self._events.get_event()
        if isinstance(event, AliasEvent):
            return self._alias(event)
        before = self._count
        node = self._content(event, depth)
        if event.anchor:
            # The anchor is defined only once the value is complete, so a value cannot contain itself.
            self._anchors[event.anchor] = (node, self._count - before)
        return node

    def _content(self, event: NodeEvent, depth: int) -> Node:
        self._take(event, 1)
        if depth > MAX_DEPTH:
            message = f"values are nested deeper than {MAX_DEPTH} levels"
            raise self._refusal("too-deep", message, self._position(event), "flatten the file")
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if getattr(event, "tag", None) not in _COLLECTION_TAGS:
            self._refuse_tag(event)
        if isinstance(event, SequenceStartEvent):
            return self._list(event, depth)
        return self._map(event, depth)

    def _alias(self, event: AliasEvent) -> Node:
        if event.anchor not in self._anchors:
            message = f"`*{event.anchor}` refers to nothing above it"
            raise self._refusal("unknown-alias", message, self._position(event), f"define it with `&{event.anchor}`")
        node, size = self._anchors[event.anchor]
        self._take(event, size)
        return node

    def _take(self, event: NodeEvent, size: int) -> None:
        self._count += size
        if self._count > MAX_NODES:
            message = f"the file expands to more than {MAX_NODES:,} values"
            raise self._refusal("too-many-values", message, self._position(event), "use fewer aliases")

    def _list(self, event: NodeEvent, depth: int) -> ListNode:
        found = []
        while not self._events.check_event(SequenceEndEvent):
            found.append(self._node(depth + 1))
        self._events.get_event()
        return ListNode(self._position(event), tuple(found))

    def _map(self, event: NodeEvent, depth: int) -> MapNode:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        while not self._events.check_event(MappingEndEvent):
            key, where = self._key(depth + 1)
            node = self._node(depth + 1)
            if key is None:
                self.spoiled.append(self._position(event))
            elif key == "<<":
                merged = {**self._merge(node, where), **merged}
            elif key in entries:
                self._refuse_duplicate(key, where, entries[key].where)
                entries[key] = Entry(entries[key].where, _joined(entries[key].node, node))
            else:
                entries[key] = Entry(where, node)
        self._events.get_event()
        return MapNode(self._position(event), {**merged, **entries})

    def _key(self, depth: int) -> tuple[str | None, Position]:
        """The text and the position of a key; None for a key that is not text, which is reported and left out."""
        event = self._events.get_event()
        where = self._position(event)
        if isinstance(event, ScalarEvent):
            return event.value, where
        message = "a key must be text, not a list or a mapping"
        self._report("bad-key", message, where, "put text with `{` or `[` in quotes")
        if not isinstance(event, AliasEvent):
            self._content(event, depth)
        return None, where

    def _merge(self, node: Node, where: Position) -> dict[str, Entry]:
        sources = node.items if isinstance(node, ListNode) else (node,)
        found: dict[str, Entry] = {}
        for source in sources:
            if not isinstance(source, MapNode):
                raise self._refusal(
                    "bad-merge", "`<<` takes a mapping or a list of mappings", where, "name an anchor of a mapping"
                )
            found = {**source.entries, **found}
        return found

    def _scalar(self, event: ScalarEvent) -> ScalarNode:
        text: str = event.value
        source = self._source(event)
        style = event.style if event.style in ("|", ">", '"', "'") else None
        if event.tag is not None and event.tag not in _STR_TAGS:
            self._refuse_tag(event)
        is_plain = event.tag is None and event.implicit[0]
        return ScalarNode(_resolve(text) if is_plain else text, text, self._position(event), source, style)

    def _source(self, event: Any) -> str:
        return self._text[event.start_mark.index : event.end_mark.index]

    def _refuse_tag(self, event: Any) -> None:
        message = f"the tag `{event.tag}` is not allowed: a workflow is plain data"
        self.spoiled.append(self._position(event))
        self._report("yaml-tag", message, self._position(event), "remove the tag")

    def _refuse_duplicate(self, key: str, where: Position, first: Position) -> None:
        message = f"`{key}` is given twice; the first is on line {first.line}"
        self._report("duplicate-key", message, where, "keep one of them")

    def _report(self, code: str, message: str, where: Position, hint: str) -> None:
        self.problems.append(Diagnostic(code, message, where, hint))

    def _refusal(self, code: str, message: str, where: Position, hint: str | None = None) -> InvalidFiles:
        return InvalidFiles([*self.problems, Diagnostic(code, message, where, hint)])

    def _position(self, event: Any) -> Position:
        mark = event.start_mark
        return Position(self._file, mark.line + 1, mark.column + 1)


def _joined(first: Node, second: Node) -> Node:
    """The value to check the rest of the file with if a key is given twice: as much as possible of both values."""
    if isinstance(first, ListNode) and isinstance(second, ListNode):
        return ListNode(first.where, (*first.items, *second.items))
    return second if isinstance(first, ScalarNode) and first.value is None else first


def _resolve(text: str) -> Plain:
    if _NULL.fullmatch(text):
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        number = WrittenInt(text, 0 if text[:2] in ("0o", "0x") else 10)
        number.written = text
        return number
    if _FLOAT.fullmatch(text):
        special = text.lower().endswith((".inf", ".nan"))
        decimal = WrittenFloat(text.replace(".", "") if special else text)
        decimal.written = text
        return decimal
    return text
