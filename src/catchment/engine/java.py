"""Finds the Java that engines run on, and checks its version and its user."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from catchment.errors import SetupError

SUPPORTED = (17, 21)
INSTALL_HINT = "install OpenJDK 17 or 21 (for example the package openjdk-17-jre-headless), or set JAVA_HOME to one"


@dataclass(frozen=True)
class Java:
    executable: str
    version: str

    @property
    def major(self) -> int:
        """17 for `17.0.15`, 8 for `1.8.0_402`."""
        parts = [int(part) for part in re.findall(r"\d+", self.version)]
        return parts[1] if parts[:1] == [1] and len(parts) > 1 else (parts or [0])[0]


def find() -> Java:
    """The Java that engines use; raises if there is none or Spark does not support it."""
    java = Java(executable := _executable(), _version(executable))
    if java.major not in SUPPORTED:
        raise SetupError(
            f"Java {java.version} at {java.executable} is not supported: Spark needs Java 17 or 21",
            code="java-unsupported",
            hint=INSTALL_HINT,
        )
    return java


def require_user() -> None:
    """Raise if the user of this process has no name: Hadoop, with which Spark reaches files, refuses to work for it."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError as error:
        raise SetupError(
            f"your user id {os.geteuid()} has no name on this machine, and Spark works for no user without a name",
            code="no-user-name",
            hint="add the user to /etc/passwd (in a container, when it starts), or work as another user",
        ) from error


def _executable() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java")) if home else shutil.which("java")
    if found:
        return found
    place = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no java on the PATH"
    raise SetupError(f"Spark needs Java: {place}", code="java-missing", hint=INSTALL_HINT)


def _version(executable: str) -> str:
    release = Path(executable).resolve().parent.parent / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    if found := re.search(r'^JAVA_VERSION="(.+)"', text, re.MULTILINE):
        return found[1]
    return _version_from_command(executable)


def _version_from_command(executable: str) -> str:
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"{executable} does not run: {error}", code="java-missing", hint=INSTALL_HINT) from error
    found = re.search(r'version "(.+?)"', answer.stderr + answer.stdout)
    return found[1] if found else "unknown"
