"""Redacts secrets in everything that is printed, logged or stored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
SHORTEST = 4
"""Shorter values occur in ordinary text; masking them would make messages unreadable and protect nothing."""

_REFERENCE = r"\$\{[^{}]*\}"
_IN_URL = re.compile(rf"(://[^\s:/@]*:)(?!{_REFERENCE}@)[^\s/@]+@|([?&;](?:ssl)?password=)(?!{_REFERENCE})[^\s&;'\"]+")
_KEPT = rf"\b(?:dataos|lake)://[^\s'\"]*|:{_REFERENCE}(?=@)|{_REFERENCE}"
_IN_LINE = re.compile(rf"(?P<kept>{_KEPT})|:(?!\s|//).*@")


class Redactor:
    """Replaces every secret, in all its encoded forms, and every password in a URL by `***`."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        # Longest first: if one secret contains another, all of it must be masked.
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def text(self, text: str) -> str:
        """The text without its secrets."""
        text = self._pattern.sub(MASK, text) if self._pattern else text
        return _IN_URL.sub(_masked_password, text) if "://" in text else text

    def data(self, data: Any) -> Any:
        """Plain data (mappings, lists, texts) without its secrets, keys included."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, Mapping):
            return {self.data(key): self.data(value) for key, value in data.items()}
        if isinstance(data, list | tuple):
            return type(data)(self.data(item) for item in data)
        return data


def source_line(line: str) -> str:
    """A source line for messages, with the password of a URL masked even if the URL is malformed."""
    if "://" not in line and "metastore" not in line:
        return line
    return _IN_LINE.sub(lambda found: found["kept"] or f":{MASK}@", line)


def _masked_password(found: re.Match[str]) -> str:
    return f"{found[1]}{MASK}@" if found[1] else f"{found[2]}{MASK}"


def _forms(secret: str) -> Iterator[str]:
    # Logs are redacted line by line, so each line of a key file is a secret of its own.
    for value in {secret, *(line.strip() for line in secret.splitlines())}:
        if len(value) >= SHORTEST:
            yield from (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
            raw = value.encode(errors="surrogateescape")
            for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
                yield from (encoded, re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), encoded))
