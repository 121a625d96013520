"""Small file systems, so that a disk can really be full, and directories that nobody can write."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

Mount = Callable[[Path, str], Path]


@contextmanager
def mounting() -> Iterator[Mount]:
    """Mounts file systems in memory; they vanish at the end."""
    mounted: list[Path] = []

    def mount(place: Path, options: str) -> Path:
        place.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode != 0:
            pytest.skip(f"a small disk cannot be mounted, which only root may do: {done.stderr.strip()}")
        mounted.append(place)
        return place

    try:
        yield mount
    finally:
        for place in mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Keep everybody from writing into a directory, even root."""
    done = subprocess.run(["mount", "--bind", place, place], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        pytest.skip(f"a directory cannot be mounted, which only root may do: {done.stderr.strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(place: Path, *, leaving: int = 0) -> Path:
    """Use up the space of a disk, except so many bytes; remove the file to give it back."""
    file = place / "filled"
    with file.open("wb", buffering=0) as stream:
        try:
            while True:
                stream.write(bytes(4096))
        except OSError:
            stream.truncate(stream.tell() - leaving)
    return file
