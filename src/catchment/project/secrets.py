"""Redacts secrets in everything that is printed, logged or stored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from catchment.errors import Diagnostic, Severity

if TYPE_CHECKING:
    from catchment.spec.secret import Secret

MASK = "***"
SHORTEST = 4
"""Shorter values occur everywhere in ordinary text; masking them would make messages unreadable and protect nothing."""
DISTINCTIVE = 8
"""A value of at least this many characters does not occur by chance, unless it is a word or a number."""

_REFERENCE = r"\$\{[^{}]*\}"
_IN_URL = re.compile(rf"(://[^\s:/@]*:)(?!{_REFERENCE}@)[^\s/@]+@|([?&;](?:ssl)?password=)(?!{_REFERENCE})[^\s&;'\"]+")
_KEPT = rf"\b(?:dataos|lake)://[^\s'\"]*|:{_REFERENCE}(?=@)|{_REFERENCE}"
_IN_LINE = re.compile(rf"(?P<kept>{_KEPT})|:(?!\s|//).*@")


class Redactor:
    """Replaces every secret, in all its encoded forms, and every password in a URL by `***`."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form: _pattern(value, form) for secret in secrets for value, form in _forms(secret)}
        # Longest first: if one secret contains another, all of it must be masked.
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(forms[form] for form in longest_first)) if forms else None

    def text(self, text: str) -> str:
        """The text without its secrets."""
        text = self._pattern.sub(MASK, text) if self._pattern else text
        return _IN_URL.sub(_masked_password, text) if "://" in text else text

    def finds(self, text: str) -> bool:
        """Whether the text contains a secret."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def diagnostics(self, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """The diagnostics without secrets, which quoted values may contain."""
        return tuple(
            replace(each, message=self.text(each.message), hint=each.hint and self.text(each.hint)) for each in found
        )

    def data(self, data: Any) -> Any:
        """Plain data (mappings, lists, texts) without its secrets, keys included."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, Mapping):
            return {self.data(key): self.data(value) for key, value in data.items()}
        if isinstance(data, list | tuple):
            return type(data)(self.data(item) for item in data)
        return data


def weak_secrets(secrets: Iterable[Secret]) -> Iterator[Diagnostic]:
    """A warning for every secret that is too short to be masked."""
    for secret in secrets:
        if len(secret.value) < SHORTEST:
            message = f"`{secret.reference}` has fewer than {SHORTEST} characters, so it cannot be masked"
            hint = "choose a longer secret; if it is none, write `${env:NAME}`"
            yield Diagnostic("secret-too-short", message, secret.where, hint, Severity.WARNING)


def source_line(line: str) -> str:
    """A source line for messages, with the password of a URL masked even if the URL is malformed."""
    if "://" not in line and "metastore" not in line:
        return line
    return _IN_LINE.sub(lambda found: found["kept"] or f":{MASK}@", line)


def _masked_password(found: re.Match[str]) -> str:
    return f"{found[1]}{MASK}@" if found[1] else f"{found[2]}{MASK}"


def _pattern(value: str, form: str) -> str:
    """The pattern that finds a form of a secret.

    A short secret, a word or a number may be part of a name, a path or a longer number that has nothing to do with it,
    so it is masked only where it stands by itself: in `password=north`, not in `orders-north` or `/lakes/north`.
    """
    if len(value) >= DISTINCTIVE and not value.isalpha() and not value.isdigit():
        return re.escape(form)
    return rf"(?<![\w./-]){re.escape(form)}(?![\w-]|[./]\w)"


def _forms(secret: str) -> Iterator[tuple[str, str]]:
    """Each value that must not be shown, with every form in which it can be written."""
    # Logs are redacted line by line, so each line of a key file is a secret of its own.
    for value in {secret, *(line.strip() for line in secret.splitlines())}:
        if len(value) >= SHORTEST:
            forms = [value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]]
            raw = value.encode(errors="surrogateescape")
            for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
                forms += [encoded, re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), encoded)]
            yield from ((value, form) for form in forms)
