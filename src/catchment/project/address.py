"""Parses addresses such as `dataos://depot:collection/dataset?acl=rw`, and refuses those that leave their depot."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, NoReturn, cast

from catchment.errors import RequestError
from catchment.formats.registry import all_traits
from catchment.project.model import Address

DEPOT_NAME = "[A-Za-z][A-Za-z0-9_-]*"
RESERVED_DEPOTS = frozenset({"spark_catalog", "system"}).union(*(each.reserved_depots for each in all_traits()))
"""Names that Spark or a format uses for its own catalogs."""

_FORM = re.compile(
    r"(?:dataos|lake)://(?P<depot>[^:/?]*):(?P<collection>[^/?]*)(?:/(?P<dataset>[^?]*))?(?:\?(?P<query>.*))?"
)
_IDENTIFIER = re.compile(r"[A-Za-z0-9_-]+")
# Lower layers might decode `%`; the others are glob, query and separator characters of Hadoop paths.
_FORBIDDEN = re.compile(r"""[\\%#*{}\[\]^|<>"':]""")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PATH = re.compile(r"(?:\.{0,2}/)[^?]*(?:\?(?P<query>.*))?")
LOCALHOST = "localhost"
"""The depot of plain paths in a project without depots: the file system of this machine."""
_SHAPE_HINT = "write dataos://depot:collection/dataset?acl=rw; collection `none` means no collection"


class BadAddress(RequestError):
    """The text is not an address."""

    code = "bad-address"


class BadAcl(BadAddress):
    """The address has an unknown `acl`."""

    code = "bad-acl"


class AddressEscapes(BadAddress):
    """The address leads out of its depot."""

    code = "address-escapes-depot"


def parse(text: str) -> Address:
    """Parse an address; raises `BadAddress` if it is not one."""
    if not text.isprintable():
        raise AddressEscapes(f"the address {text!r} has control characters", hint="remove them")
    match = _FORM.fullmatch(text)
    if match is None:
        raise _no_address(text)
    depot, collection, dataset = match["depot"], match["collection"], (match["dataset"] or "").rstrip("/")
    if not is_depot_name(depot):
        raise BadAddress(f"`{depot}` in `{text}` is not a valid name for a depot", hint=_SHAPE_HINT)
    _check_segment(collection, text)
    for segment in dataset.split("/") if dataset else ():
        _check_segment(segment, text)
    return Address(depot, None if collection == "none" else collection, dataset or None, _acl(match["query"], text))


def is_address(text: str) -> bool:
    """Whether a text is meant as an address, and not as the name of a depot."""
    return _URI.match(text) is not None


def is_path(text: str) -> bool:
    """Whether a dataset is named by a plain path: absolute, or beginning with `./` or `../`."""
    return _PATH.fullmatch(text) is not None


def parse_path(text: str, root: Path) -> Address:
    """The address of a plain path; relative ones start at `root`."""
    match = _PATH.fullmatch(text)
    if match is None:
        raise _no_address(text)
    place = os.path.normpath(root / text.partition("?")[0])
    if place == os.sep:
        raise BadAddress(f"`{text}` names no dataset", code="no-dataset", hint="name a file or a directory")
    query = "" if match["query"] is None else f"?{match['query']}"
    return parse(f"dataos://{LOCALHOST}:none{place}{query}")


def _no_address(text: str) -> BadAddress:
    if not _URI.match(text) or text.startswith(("dataos://", "lake://")):
        return BadAddress(f"`{text}` is not an address", hint=_SHAPE_HINT)
    return BadAddress(
        f"not supported yet: the location `{text}` as a dataset",
        code="unsupported-location",
        hint="give it to a depot of kind files in catchment.yaml, and write dataos://depot:none/dataset",
    )


def is_depot_name(text: str) -> bool:
    """Whether a depot may have this name."""
    return text not in RESERVED_DEPOTS and re.fullmatch(DEPOT_NAME, text) is not None


def is_identifier(text: str) -> bool:
    """Whether a collection or a table of a catalog may have this name."""
    return _IDENTIFIER.fullmatch(text) is not None


def _check_segment(segment: str, text: str) -> None:
    if not segment.strip():
        raise BadAddress(f"`{text}` has an empty part", hint=_SHAPE_HINT)
    if segment.strip(" .") == "":
        _refuse(text, f"`{segment}` leads out of the depot")
    if (found := _FORBIDDEN.search(segment)) is not None:
        _refuse(text, f"the character `{found[0]}` is not allowed, nor are encoded characters and patterns")
    # Hidden names belong to Catchment and to Spark: `.catchment`, staging directories, checksums.
    if segment.startswith("."):
        _refuse(text, f"`{segment}` is a hidden name")


def _refuse(text: str, why: str) -> NoReturn:
    raise AddressEscapes(f"`{text}` is refused: {why}", hint="use a plain name for the dataset, below its depot")


def _acl(query: str | None, text: str) -> Literal["r", "rw"] | None:
    if query is None:
        return None
    key, _, value = query.partition("=")
    if key != "acl" or "&" in value:
        raise BadAddress(f"`?{query}` in `{text}` is not understood", hint="only `?acl=r` or `?acl=rw` may follow")
    if value not in ("r", "rw"):
        raise BadAcl(
            f"`acl={value}` in `{text}` is not a valid access", hint="use `acl=r` to read or `acl=rw` to write"
        )
    return cast(Literal["r", "rw"], value)
