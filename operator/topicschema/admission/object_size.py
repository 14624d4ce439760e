"""Size of an object as the API server stores it, and its limit."""

import json
import re
from collections.abc import Mapping
from typing import Any

from topicschema.admission.review import Cause, Review

MAX_OBJECT_BYTES = int(1.1 * 1024 * 1024)
# Go writes these as \u003c and the like, six bytes each. Three of them are already counted for U+2028 and U+2029.
_ESCAPED = re.compile(b"[<>&]")
_ESCAPE_BYTES = 5


def refusal(review: Review) -> Cause | None:
    """Return the reason why the object cannot be stored, or None if it is small enough."""
    if review.new is None or review.size <= MAX_OBJECT_BYTES:
        return None  # the API server escapes the review that it sends, so no object in it is larger
    size = encoded_size(review.new)
    return _too_large(review.new.get("spec"), size) if size > MAX_OBJECT_BYTES else None


def encoded_size(new: Mapping[str, Any]) -> int:
    """Return the bytes of the object in the API server's storage: compact JSON, escaped as Go does."""
    encoded = json.dumps(new, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")
    return len(encoded) + _ESCAPE_BYTES * len(_ESCAPED.findall(encoded))


def _too_large(spec: object, size: int) -> Cause:
    where = next((name for name in ("keyValue", "protobuf") if isinstance(spec, Mapping) and name in spec), "schema")
    limit = f"{MAX_OBJECT_BYTES:,} bytes are the most that can be stored"
    message = f"ObjectTooLarge: the resource has {size:,} bytes as the API server stores it; {limit}"
    return Cause(f"spec.{where}", message)
