"""`catchment init [DIRECTORY]`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import click

from catchment.cli import options, printing
from catchment.errors import RequestError

_FILES = ("catchment.yaml", "orders.yaml", "data/orders.json")
_IGNORED = ".gitignore"


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@options.debug
def init(directory: Path) -> None:
    """Write a small project: catchment.yaml, an example workflow, its data, .gitignore. Nothing is overwritten."""
    taken = [name for name in _FILES if (directory / name).exists()]
    if taken:
        raise RequestError(
            f"{directory / taken[0]} is already there; nothing was written",
            code="already-exists",
            hint="name another directory: catchment init DIRECTORY",
        )
    ignores = (directory / _IGNORED).exists()
    try:
        _lay_out(directory, {name: name for name in _FILES} | ({} if ignores else {"gitignore": _IGNORED}))
    except OSError as error:
        raise RequestError(f"cannot write into {directory}: {error.strerror}", code="no-permission") from error
    for name in _FILES if ignores else (*_FILES, _IGNORED):
        click.echo(directory / name)
    if ignores:
        printing.tell(f"{directory / _IGNORED} is left as it is: add /.catchment/ and /lake/ to it")
    printing.tell(f"next: catchment run {directory / 'orders.yaml'}")


def _lay_out(directory: Path, files: Mapping[str, str]) -> None:
    with resources.as_file(resources.files("catchment.cli") / "template") as template:
        for source, name in files.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(template / source, directory / name)
