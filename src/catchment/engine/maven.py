"""Downloads Maven packages with the Ivy that Spark includes. Later starts only look at a list of jars."""

from __future__ import annotations

import re
import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from catchment.engine import cache, jar_files
from catchment.engine.java import Java
from catchment.errors import SetupError
from catchment.formats.traits import Package

# Ivy answers only in text: a summary of what it did not find, and the errors of the network.
NOT_FOUND = re.compile(r"::\s+(\S+?)#(\S+?);(\S+?)(?:!\S+|: not found)")
MAVEN = "http://ant.apache.org/ivy/maven"
"""The XML namespace of Maven's attributes in Ivy files; a name, not an address."""
NO_NETWORK = re.compile(r"Host \S+ not found|SERVER ERROR|Connection (?:refused|timed out|reset)|UnknownHost|timed out")


def jars(packages: Sequence[Package], java: Java, ivy: Path, report: cache.Report, cancelled: Event) -> tuple[str, ...]:
    """The paths of the jars of these packages and their dependencies, in a stable order."""
    directory = jar_files.directory_of(packages)
    while (found := jar_files.class_path(directory, packages)) is None:
        with cache.locked("jars"):
            if directory.is_dir():
                jar_files.check(directory, packages)
            else:
                report(f"downloading {len(packages)} packages for Spark (once): {_names(packages)}")
                _download(packages, directory, java, ivy, cancelled)
    return found


def _download(packages: Sequence[Package], directory: Path, java: Java, ivy: Path, cancelled: Event) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".new-") as work:
        made = Path(work) / "jars"
        retrieve(packages, made, cache.root() / "ivy", java, ivy, cancelled)
        jar_files.check(made, packages)
        shutil.move(made, directory)


def retrieve(
    packages: Sequence[Package], directory: Path, ivy_cache: Path, java: Java, ivy: Path, cancelled: Event
) -> None:
    """Put the jars of these packages and their dependencies into a new directory."""
    with tempfile.TemporaryDirectory() as text:
        command = _command(packages, Path(text), directory, ivy_cache, java, ivy)
        code, output = cache.run_quietly(command, cancelled)
    if code != 0 or not directory.is_dir():
        raise _failure(packages, output)


def _names(packages: Sequence[Package]) -> str:
    return ", ".join(package.parts[1] for package in packages)


def _command(
    packages: Sequence[Package], work: Path, directory: Path, ivy_cache: Path, java: Java, ivy: Path
) -> list[str]:
    settings, module = work / "settings.xml", work / "ivy.xml"
    settings.write_bytes(_settings(ivy_cache))
    module.write_bytes(_module(packages))
    pattern = f"{directory}/[organisation]_[artifact]-[revision](-[classifier]).[ext]"
    main = [java.executable, "-cp", str(ivy), "org.apache.ivy.Main"]
    return [*main, "-settings", str(settings), "-ivy", str(module), "-types", "jar", "bundle", "-retrieve", pattern]


def _settings(ivy_cache: Path) -> bytes:
    top = ElementTree.Element("ivysettings")
    ElementTree.SubElement(top, "settings", defaultResolver="central")
    ElementTree.SubElement(top, "caches", defaultCacheDir=str(ivy_cache))
    resolvers = ElementTree.SubElement(top, "resolvers")
    ElementTree.SubElement(resolvers, "ibiblio", name="central", m2compatible="true")
    return ElementTree.tostring(top)


def _module(packages: Sequence[Package]) -> bytes:
    top = ElementTree.Element("ivy-module", version="2.0")
    ElementTree.SubElement(top, "info", organisation="catchment", module="engine")
    ElementTree.SubElement(ElementTree.SubElement(top, "configurations"), "conf", name="default")
    dependencies = ElementTree.SubElement(top, "dependencies")
    for package in packages:
        _dependency(dependencies, package)
    return ElementTree.tostring(top)


def _dependency(dependencies: ElementTree.Element, package: Package) -> None:
    group, artifact, version = package.parts
    scope = "default->master" if package.alone else "default->master,runtime(default)"
    dependency = ElementTree.SubElement(
        dependencies, "dependency", {"org": group, "name": artifact, "rev": version, "conf": scope, "force": "true"}
    )
    if package.classifier:
        variant = {"name": artifact, "type": "jar", "ext": "jar", f"{{{MAVEN}}}classifier": package.classifier}
        ElementTree.SubElement(dependency, "artifact", variant)
    for excluded in package.without:
        org, module = excluded.split(":")
        ElementTree.SubElement(dependency, "exclude", org=org, module=module)


def _failure(packages: Sequence[Package], output: str) -> SetupError:
    if NO_NETWORK.search(output):
        return SetupError(
            "the packages that Spark needs could not be downloaded: the package repository cannot be reached",
            code="no-network",
            hint="connect this machine to the network and run the command again; behind a proxy, set "
            "JAVA_TOOL_OPTIONS to -Dhttps.proxyHost=… -Dhttps.proxyPort=…",
            detail=output,
        )
    missing = sorted({":".join(found.groups()) for found in NOT_FOUND.finditer(output)})
    named = ", ".join(missing) or ", ".join(package.coordinate for package in packages)
    return SetupError(
        f"no such package: {named}",
        code="package-not-found",
        hint="check group, artifact and version in `packages` of the engine",
        detail=output,
    )
