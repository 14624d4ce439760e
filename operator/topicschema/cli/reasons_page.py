"""`python -m topicschema.cli.reasons_page docs/operations.md`: write the tables of `core.reasons` into the page."""

import re
import sys
from pathlib import Path
from typing import Final

from topicschema.core import reasons

_TABLES: Final = (("| reason | | what to do |\n|---|---|---|\n", False), ("| Event | meaning |\n|---|---|\n", True))


def with_tables(page: str) -> str:
    """Return the page with the current rows of both tables."""
    for head, events in _TABLES:
        rows = "".join(f"{row}\n" for row in reasons.table(events=events))
        page, count = re.subn(rf"{re.escape(head)}(\|.*\n)*", lambda _, text=head + rows: text, page)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"the page has {count} tables that begin with {head!r}")
    return page


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
