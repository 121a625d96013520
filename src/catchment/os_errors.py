"""Errors of the operating system that a user can do something about: a full disk, a missing permission."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from catchment.errors import CatchmentError, JobError

FREE_SOME = "free some space there, then go on with `catchment resume`: what is committed or sealed is not lost"
ERRORS = {
    errno.ENOSPC: ("disk-full", "the disk is full", FREE_SOME),
    errno.EDQUOT: ("disk-full", "the disk quota is used up", FREE_SOME),
    errno.EACCES: ("no-permission", "access was refused", "check the owner and the permissions of the location"),
    errno.EPERM: ("no-permission", "access was refused", "check the owner and the permissions of the location"),
    errno.EROFS: ("no-permission", "the location is read-only", "make it writable, or choose another location"),
}
"""By error number: the code, what happened, what to do."""
NEARLY_NOTHING = 64 * 1024
"""In bytes; a disk with less free space than this counts as full."""


def explained(error: OSError) -> CatchmentError | None:
    """The error for a Python exception; None if its error number is not in `ERRORS`."""
    about = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return from_number(error.errno or 0, about)


def from_number(number: int, about: str, detail: str | None = None) -> CatchmentError | None:
    """The error for an error number of the operating system; None if it is not in `ERRORS`."""
    if number not in ERRORS:
        return None
    code, message, hint = ERRORS[number]
    return JobError(f"{message}: {about}", code=code, hint=hint, detail=detail)


def refusal(place: Path, about: str, detail: str | None = None) -> CatchmentError | None:
    """The operating system's error for writing into a directory that may not exist yet; None if writing works."""
    existing = next(each for each in (place, *place.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return None
    except OSError as error:
        return from_number(error.errno or 0, f"{existing} ({about})", detail)


def is_full(place: Path) -> bool:
    """Whether the disk of a directory is full: it has no space or no inodes left."""
    try:
        disk = os.statvfs(place)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < NEARLY_NOTHING or (disk.f_files > 0 and disk.f_favail == 0)


def space_left(place: Path) -> str | None:
    """How much space a local disk has left, as text; None if that is unknown."""
    existing = next((each for each in (place, *place.parents) if each.exists()), None)
    if existing is None:
        return None
    usage = shutil.disk_usage(existing)
    return f"{usage.free / 2**20:,.0f} of {usage.total / 2**20:,.0f} MiB are free at {place}"
