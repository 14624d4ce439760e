"""`python -m topicschema.cli.columns_page docs/audit.md`: write the columns of an audit's tables into the page."""

import re
import sys
from pathlib import Path
from typing import Final

from topicschema.spark.audit.tables import TABLES

_HEAD: Final = "| column | type | value |\n|---|---|---|\n"


def with_columns(page: str) -> str:
    """Return the page with the current rows below each heading with the name of a table."""
    for name, columns in TABLES.items():
        rows = "".join(
            f"| `{column}` | {each.type.simpleString()} | {each.meaning} |\n" for column, each in columns.items()
        )
        text = f"### {name}\n\n{_HEAD}{rows}"
        page, count = re.subn(rf"### {name}\n\n{re.escape(_HEAD)}(\|.*\n)*", lambda _, text=text: text, page)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"the page has {count} tables with the heading {name!r}")
    return page


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_columns(path.read_text(encoding="utf-8")), encoding="utf-8")
