"""Checks that the jars on the class path are the ones that Catchment was tested with.

`jars.lock.json`, which `make lock` writes, has the SHA-256 of every jar of every supported set of packages. It is
compared after a download. A list beside the jars remembers that, so that later starts need only look at sizes and
times; a jar that was touched is read again. Jars of packages that a project asks for are not in the lock: the first
download is trusted, and a later one has to be the same.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache as once
from pathlib import Path

from catchment import private_files
from catchment.engine import cache
from catchment.errors import SetupError
from catchment.formats.traits import Package

LOCK = Path(__file__).with_name("jars.lock.json")
CHUNK = 1024 * 1024
LIST = "jars.json"
"""The file beside the jars that lists them."""
KNOWN = "known-jars.json"
"""The file in the cache with the digests of jars that the lock does not have."""


@dataclass(frozen=True)
class Jar:
    """A jar as it was when its content was checked."""

    sha256: str
    bytes: int
    changed_ns: int


@dataclass(frozen=True)
class Lock:
    """What `make lock` pinned."""

    jars: Mapping[str, str]
    """SHA-256 by file name, which has group, artifact and version."""
    sets: Mapping[str, Sequence[str]]
    """The jars of each set of packages that depots can need, by the fingerprint of the set."""


@once
def pinned() -> Lock:
    """The lock of this version of Catchment."""
    return Lock(**json.loads(LOCK.read_text(encoding="utf-8")))


def sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def fingerprint(packages: Sequence[Package]) -> str:
    """A name for a set of packages."""
    return hashlib.sha256(repr(tuple(packages)).encode()).hexdigest()[:16]


def directory_of(packages: Sequence[Package]) -> Path:
    """Where the cache keeps the jars of a set of packages."""
    return cache.root() / "jars" / fingerprint(packages)


def check(directory: Path, packages: Sequence[Package]) -> None:
    """Check every jar of a directory, and list them; raises `SetupError`. Needs the lock of the cache."""
    names = pinned().sets.get(fingerprint(packages)) or sorted(jar.name for jar in directory.glob("*.jar"))
    found = {name: _examined(directory / name) for name in names}
    known = {**_known(), **pinned().jars}
    for name, jar in found.items():
        if known.setdefault(name, jar.sha256) != jar.sha256:
            raise _altered(name, packages, jar.sha256, known[name])
    _write(cache.root() / KNOWN, {name: digest for name, digest in known.items() if name not in pinned().jars})
    _write(directory / LIST, {name: asdict(jar) for name, jar in found.items()})


def class_path(directory: Path, packages: Sequence[Package]) -> tuple[str, ...] | None:
    """The jars of a directory that was checked; None if it has to be checked. A jar that is not listed is left out."""
    try:
        listed = {name: Jar(**facts) for name, facts in json.loads((directory / LIST).read_text()).items()}
    except (FileNotFoundError, ValueError, TypeError):
        return None
    names = pinned().sets.get(fingerprint(packages))
    if names is not None and {name: pinned().jars[name] for name in names} != _digests(listed):
        return None
    if any(_is_touched(directory / name, jar) for name, jar in listed.items()):
        return None
    return tuple(str(directory / name) for name in sorted(listed))


def check_installed(directory: Path, version: str) -> None:
    """Compare the jars of an installed pyspark with its own list: Spark puts every jar there on the class path."""
    with (directory / f"pyspark-{version}.dist-info" / "RECORD").open(newline="") as file:
        listed = {Path(row[0]).name: int(row[2]) for row in csv.reader(file) if row[0].startswith("pyspark/jars/")}
    found = {path.name: path.stat().st_size for path in (directory / "pyspark" / "jars").iterdir()}
    if wrong := sorted(name for name, _ in listed.items() ^ found.items()):
        raise SetupError(
            f"{wrong[0]} in {directory / 'pyspark' / 'jars'} is not as it was installed with Spark {version}",
            code="jar-damaged",
            hint=f"remove {directory}; the next start installs this Spark again",
        )


def _digests(jars: Mapping[str, Jar]) -> dict[str, str]:
    return {name: jar.sha256 for name, jar in jars.items()}


def _is_touched(path: Path, jar: Jar) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return True
    return (status.st_size, status.st_mtime_ns) != (jar.bytes, jar.changed_ns)


def _examined(path: Path) -> Jar:
    try:
        status = path.stat()
        return Jar(sha256(path), status.st_size, status.st_mtime_ns)
    except FileNotFoundError as error:
        raise SetupError(
            f"{path} is missing",
            code="jar-damaged",
            hint=f"remove {path.parent}; the next start downloads its jars again",
        ) from error


def _altered(name: str, packages: Sequence[Package], found: str, expected: str) -> SetupError:
    ours = name in pinned().jars
    whose = "the one that Catchment was tested with" if ours else "the one that was downloaded at first"
    what = "" if ours else f"; if you know why, remove its line from {cache.root() / KNOWN}"
    return SetupError(
        f"{name} is not {whose}: its SHA-256 is {found}, not {expected}",
        code="jar-altered",
        hint=f"it is damaged, or somebody has changed it: remove {directory_of(packages)} and {cache.root() / 'ivy'}, "
        f"so that it is downloaded again{what}",
    )


def _known() -> dict[str, str]:
    try:
        known: dict[str, str] = json.loads((cache.root() / KNOWN).read_text())
    except FileNotFoundError:
        return {}
    return known


def _write(path: Path, data: Mapping[str, object]) -> None:
    """Write the file as a whole, unless it has this content already."""
    text = json.dumps(data, indent=1, sort_keys=True)
    if path.exists() and path.read_text() == text:
        return
    draft = path.with_name(f".{path.name}.new")
    private_files.make_file(draft)
    draft.write_text(text)
    draft.replace(path)
