"""Parses YAML text into a tree, safely: bounded depth and alias expansion, no tags, no duplicate keys.

Scalars follow the YAML 1.2 core schema: `true`/`false`, whole numbers, numbers and `null` only. `on`, `yes` and dates
stay text. The tree is built from PyYAML's events, because its C composer recurses without a bound and takes the
process down on deep nesting.
"""

from __future__ import annotations

import re
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
from catchment.spec.yaml_errors import syntax_problem

try:
    from yaml import CSafeLoader as Loader
except ImportError:
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

MAX_DEPTH = 64
MAX_NODES = 1_000_000
"""How many values one file may have, counting every repetition by an alias."""

_NULL = re.compile(r"|~|null|Null|NULL")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,1000}|0o[0-7]{1,1000}|0x[0-9a-fA-F]{1,1000}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_STR_TAGS = ("!", "tag:yaml.org,2002:str")
_COLLECTION_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")


def compose(text: str, file: str) -> Node:
    """Parse a text; `file` is the name that positions carry. Every problem raises `InvalidFiles`."""
    return _Composer(text, file).document()


class _Composer:
    """Builds the tree of one text from its YAML events and counts its values."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._events: Any = None
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._count = 0
        self._problems: list[Diagnostic] = []

    def document(self) -> Node:
        try:
            self._events = Loader(self._text)
            root = self._single_document()
        except yaml.YAMLError as error:
            raise InvalidFiles([syntax_problem(error, self._text, self._file)]) from error
        if self._problems:
            raise InvalidFiles(self._problems)
        return root

    def _single_document(self) -> Node:
        self._events.get_event()
        if self._events.check_event(StreamEndEvent):
            raise self._refusal("empty-file", "the file is empty", Position(self._file, 1, 1), "add a workflow to it")
        self._events.get_event()
        root = self._node(0)
        self._events.get_event()
        if not self._events.check_event(StreamEndEvent):
            where = self._position(self._events.peek_event())
            message = "the file holds more than one document"
            raise self._refusal("several-documents", message, where, "keep one workflow per file")
        return root

    def _node(self, depth: int) -> Node:
        event = self._events.get_event()
        if isinstance(event, AliasEvent):
            return self._alias(event)
        before = self._count
        self._take(event, 1)
        if depth > MAX_DEPTH:
            message = f"values are nested deeper than {MAX_DEPTH} levels"
            raise self._refusal("too-deep", message, self._position(event), "flatten the file")
        node = self._content(event, depth)
        if event.anchor:
            # The anchor is defined only once the value is complete, so a value cannot contain itself.
            self._anchors[event.anchor] = (node, self._count - before)
        return node

    def _content(self, event: NodeEvent, depth: int) -> Node:
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
            key, where = self._key()
            node = self._node(depth + 1)
            if key == "<<":
                merged = {**self._merge(node, where), **merged}
            elif key in entries:
                self._refuse_duplicate(key, where, entries[key].where)
            else:
                entries[key] = Entry(where, node)
        self._events.get_event()
        return MapNode(self._position(event), {**merged, **entries})

    def _key(self) -> tuple[str, Position]:
        event = self._events.get_event()
        where = self._position(event)
        if not isinstance(event, ScalarEvent):
            raise self._refusal(
                "bad-key", "a key must be text, not a list or a mapping", where, "put text with `{` or `[` in quotes"
            )
        return event.value, where

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
        self._problems.append(Diagnostic("yaml-tag", message, self._position(event), "remove the tag"))

    def _refuse_duplicate(self, key: str, where: Position, first: Position) -> None:
        message = f"`{key}` is given twice; the first is on line {first.line}"
        self._problems.append(Diagnostic("duplicate-key", message, where, "keep one of them"))

    def _refusal(self, code: str, message: str, where: Position, hint: str | None = None) -> InvalidFiles:
        return InvalidFiles([*self._problems, Diagnostic(code, message, where, hint)])

    def _position(self, event: Any) -> Position:
        mark = event.start_mark
        return Position(self._file, mark.line + 1, mark.column + 1)


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
