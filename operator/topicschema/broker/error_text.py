"""Texts of a broker's errors, shortened and without quoted schemas, for conditions and logs."""

import html
import json
import re
from dataclasses import dataclass
from typing import Any, Final

_MAX_SHORT: Final = 200
_MAX_WHOLE: Final = 8000
# A schema, a default or a name of the schema may begin at a match. The text from there on is not repeated.
_QUOTATION: Final = re.compile(r"[\n\r{\[\"'<]| : |: -?\d")
_BANNER: Final = re.compile(r"Message: ([^\n]*)")
_CLASS: Final = re.compile(r"(?:[a-z]\w*\.){2,}(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Words:
    """`whole` is for searches, `short` for messages. `is_reason` is True if the admin API itself wrote the text."""

    whole: str
    short: str
    is_reason: bool


def words_of(body: bytes) -> Words:
    """Return the text of an error's body: Pulsar's `{"reason": …}`, its container's page, or any other body."""
    error = _parsed(body)
    if isinstance(error, dict) and isinstance(error.get("reason"), str):
        whole = error["reason"][:_MAX_WHOLE]
        return Words(whole, _short(whole), is_reason=True)
    if isinstance(error, dict):
        whole = html.unescape(str(error.get("message") or ""))[:_MAX_WHOLE]
        return Words(whole, _short(whole), is_reason=False)
    return Words(bytes(body[:_MAX_WHOLE]).decode(errors="replace"), "", is_reason=False)


def _parsed(body: bytes) -> Any:
    """Return the body's JSON, or None. Pulsar 4.2 does not escape a schema's line breaks in it, so accept them."""
    try:
        return json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None


def _short(whole: str) -> str:
    banner = _BANNER.search(whole)
    plain = (banner.group(1) if banner else whole).strip()
    quotation = _QUOTATION.search(plain)
    text = plain[: quotation.start()] if quotation else plain
    printable = "".join(char if char.isprintable() else " " for char in _CLASS.sub("", text)[:_MAX_SHORT])
    return printable.strip(" :,;?")
