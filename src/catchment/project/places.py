"""Resolves paths and the metastore's URL in the project file."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from catchment.errors import RequestError
from catchment.project.depots import is_uri
from catchment.project.model import home_in


def default_metastore(environment: str | None) -> str:
    """The default metastore of a project, or of one of its environments."""
    return f"{_SQLITE}{home_in(Path(), environment) / 'metastore.db'}"


def absolute(text: str, root: Path) -> str:
    """A URI unchanged; anything else, including `file:`, as an absolute path on this machine."""
    if text.startswith("file:"):
        text = unquote(urlsplit(text).path)
    elif is_uri(text):
        return text.rstrip("/")
    if not text.strip():
        raise RequestError("the path is empty", code="bad-location", hint="write `.` for the project's directory")
    try:
        return str((root / Path(text).expanduser()).resolve())
    except (OSError, ValueError, RuntimeError) as error:
        hint = "write a path relative to the project file, or a URI"
        raise RequestError(f"`{text}` is not a usable path: {error}", code="bad-location", hint=hint) from error


def server_list(text: str) -> str:
    """Servers as `host:port,host:port`; raises `RequestError` if the text is not such a list."""
    servers = [part.strip() for part in text.split(",")]
    for server in servers:
        host, _, port = server.rpartition(":")
        if not re.fullmatch(r"[^\s/:@]+|\[[0-9A-Fa-f:.]+\]", host) or not port.isdecimal() or int(port) > _LAST_PORT:
            raise RequestError(
                f"`{server}` is no server", code="bad-location", hint="write host:port, or several of them with commas"
            )
    return ",".join(servers)


_LAST_PORT = 65535
_SQLITE = "sqlite:///"
_POSTGRESQL = "postgresql://"
_HINT = f"write {_SQLITE}.catchment/metastore.db or {_POSTGRESQL}user:password@host/database"


def metastore_url(url: str, root: Path) -> str:
    """The metastore's URL, with an absolute path for SQLite; raises `RequestError` if it is not supported."""
    if url.startswith(_POSTGRESQL):
        return _postgresql(url)
    path = url.removeprefix(_SQLITE)
    if path != url and path and "?" not in path and ":memory:" not in path:
        return _SQLITE + absolute(path, root)
    database = re.match(r"[A-Za-z][\w+.-]*(?=://)", url)
    if database and not database[0].startswith(("sqlite", "postgres")):
        raise RequestError(f"a metastore on {database[0]} is not supported", code="unsupported-metastore", hint=_HINT)
    raise RequestError("this is not the URL of a metastore", code="bad-metastore", hint=_HINT)


def _postgresql(url: str) -> str:
    problem = _problem(url)
    if problem:
        hint = f"{_HINT}; in user and password, write %40 for @, %2F for /, %3A for :, %23 for # and %3F for ?"
        raise RequestError(f"the metastore's address {problem}", code="bad-metastore", hint=hint)
    return url


def _problem(url: str) -> str | None:
    """What is wrong with a URL; special characters in a password must not end up in the host."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        return "has no usable host and port"
    if re.search(r"[\s#]", url) or parts.netloc.count("@") > 1 or "@" in parts.path:
        return "cannot be split into user, password, host and database"
    if not re.fullmatch(r"/[^/]+", parts.path):
        return "names no database"
    return None


_PORTS = {"http": 80, "https": 443, "thrift": 9083}
"""The default ports of catalogs, which a uri may omit."""


def servers_of(uri: str | None) -> tuple[str, ...]:
    """The servers in a catalog's uri, in one canonical spelling; several are replicas of one catalog."""
    return tuple(_server(part.strip()) for part in (uri or "").split(","))


def _server(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:  # reported when something connects to it
        return uri
    return f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}?{parts.query}"
