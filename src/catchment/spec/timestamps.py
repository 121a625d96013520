"""Points in time, as people write them."""

from __future__ import annotations

import re
from datetime import datetime, timezone

EXAMPLE = "for example `2030-01-31 23:59:45` or `2030-01-31T23:59:45+02:00`"


def read_moment(text: str) -> int:
    """Milliseconds since 1970; a time without a zone is UTC. Raises ValueError for what is no moment."""
    # Until Python 3.11, Z is no zone.
    found = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text.strip()))
    return int((found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp() * 1000)
