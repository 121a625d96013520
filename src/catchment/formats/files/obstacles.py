"""Errors that block one write of files: every further attempt would fail in the same way.

A write of files is published before the next one begins. So a write that can never be published must leave the queue.
"""

from __future__ import annotations

import errno

from catchment.errors import StorageUnavailable
from catchment.formats.failures import from_spark
from catchment.jvm.causes import JVM_ERRORS, first_cause, is_a

STORE_ERRORS = (OSError, *JVM_ERRORS)
"""Errors that a disk or a store raises."""
ERROR_NUMBERS = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY),
        *(errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.ELOOP, errno.EXDEV),
    }
)
"""Errors about a path. A disk that is full or gone raises other errors, and blocks every write."""
JAVA_ERRORS = (
    "java.lang.IllegalArgumentException",
    "java.lang.OutOfMemoryError",
    "java.nio.file.AccessDeniedException",
    "org.apache.hadoop.fs.FileAlreadyExistsException",
    "org.apache.hadoop.fs.InvalidPathException",
    "org.apache.hadoop.fs.ParentNotDirectoryException",
    "org.apache.hadoop.fs.PathIsDirectoryException",
    "org.apache.hadoop.fs.PathIsNotDirectoryException",
    "org.apache.hadoop.security.AccessControlException",
)


def is_in_the_way(error: Exception) -> bool:
    """Whether an error is about the paths of this write, and not about the store."""
    if isinstance(error, OSError):
        return error.errno in ERROR_NUMBERS
    # Hadoop reports an unknown host as an illegal argument.
    return is_a(error, *JAVA_ERRORS) and not isinstance(from_spark(error), StorageUnavailable)


def reason(error: Exception) -> str:
    """The message of the store."""
    return str(error if isinstance(error, OSError) else first_cause(error).java.toString())
