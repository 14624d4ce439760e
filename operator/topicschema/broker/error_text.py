"""What a broker said in an error, in words that may be shown: short, and without the schemas that it quotes."""

import html
import json
import re
from dataclasses import dataclass
from typing import Any, Final

_MAX_SHORT: Final = 200
_MAX_WHOLE: Final = 8000
# Where a schema, a default or a name of the schema's may begin. What follows is not repeated.
_QUOTATION: Final = re.compile(r"[\n\r{\[\"'<]| : |: -?\d")
_BANNER: Final = re.compile(r"Message: ([^\n]*)")
_CLASS: Final = re.compile(r"(?:[a-z]\w*\.){2,}(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Words:
    """`whole` is for looking things up, `short` for people; `is_reason` where the admin API itself wrote it."""

    whole: str
    short: str
    is_reason: bool


def words_of(body: bytes) -> Words:
    """The words of an error's body: Pulsar's `{"reason": …}`, its container's page, or anything else."""
    told = _parsed(body)
    if isinstance(told, dict) and isinstance(told.get("reason"), str):
        whole = told["reason"][:_MAX_WHOLE]
        return Words(whole, _short(whole), is_reason=True)
    if isinstance(told, dict):
        whole = html.unescape(str(told.get("message") or ""))[:_MAX_WHOLE]
        return Words(whole, _short(whole), is_reason=False)
    return Words(bytes(body[:_MAX_WHOLE]).decode(errors="replace"), "", is_reason=False)


def _parsed(body: bytes) -> Any:
    """The body's JSON; Pulsar 4.2 repeats a schema's line breaks in it as they are, which JSON does not allow."""
    try:
        return json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None


def _short(whole: str) -> str:
    banner = _BANNER.search(whole)
    plain = (banner.group(1) if banner else whole).strip()
    quotation = _QUOTATION.search(plain)
    kept = plain[: quotation.start()] if quotation else plain
    printable = "".join(char if char.isprintable() else " " for char in _CLASS.sub("", kept)[:_MAX_SHORT])
    return printable.strip(" :,;?")
