"""JSON of an AdmissionReview (admission.k8s.io/v1): the request, and the response.

A refusal is always HTTP status 422, reason Invalid, with a message and causes that each stand alone. kubectl shows the
causes if one object was sent, and the message if there were several. With any other reason kubectl would hide the
message.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_API_VERSION = "admission.k8s.io/v1"
_UNPROCESSABLE = 422
# The API server cuts each warning to 256 bytes if all have 4,096 or more, and drops one with a line break or a tab.
_WARNING_BYTES = 240
_WARNINGS = 16
_CAUSES = 100
_CAUSE_BYTES = 1_200
_MESSAGE_BYTES = 8_000


class MalformedReviewError(Exception):
    """A request body that is no AdmissionReview, so it is not from an API server."""


@dataclass(frozen=True, slots=True)
class Review:
    """One request. `old` is None on CREATE, `new` on DELETE. Both are the API server's JSON, not decoded.

    `size` is that of the whole AdmissionReview in bytes: no object in it is larger.
    """

    uid: str
    operation: str
    group: str
    kind: str
    namespace: str
    name: str
    new: Mapping[str, Any] | None
    old: Mapping[str, Any] | None
    size: int
    user: Mapping[str, Any] = field(default_factory=dict)
    """User of the request: username, uid, groups, extra."""

    @property
    def changes_spec(self) -> bool:
        """True if there is a spec to judge: not on DELETE, during deletion, or for an unchanged spec."""
        if self.new is None or _member(self.new, "metadata").get("deletionTimestamp"):
            return False
        return self.old is None or self.new.get("spec") != self.old.get("spec")


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason for a refusal: the invalid field of the resource, and a sentence that stands alone."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


@dataclass(frozen=True, slots=True)
class ReviewResponse:
    """Response, allowed unless there are causes. `reason` is for the metrics; the client always gets Invalid."""

    reason: str
    warnings: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()

    @property
    def is_allowed(self) -> bool:
        """True if the edit may be stored."""
        return not self.causes


def allow(*warnings: str) -> ReviewResponse:
    """Return an answer that allows the edit. The most important warning is first."""
    return ReviewResponse("Allowed", warnings)


def deny(reason: str, causes: Iterable[Cause], warnings: Iterable[str] = ()) -> ReviewResponse:
    """Return a refusal with these causes, in order. There must be at least one."""
    return ReviewResponse(reason, tuple(warnings), tuple(causes))


def read(body: Any, size: int) -> Review:
    """Parse an AdmissionReview of `size` bytes. Raises MalformedReviewError if it is none."""
    request = _member(body, "request") if isinstance(body, Mapping) else {}
    kind = _member(request, "kind")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid or not kind:
        raise MalformedReviewError(
            "not an AdmissionReview of admission.k8s.io/v1: request.uid or request.kind is missing"
        )
    new, old = _object(request, "object"), _object(request, "oldObject")
    return Review(
        uid=uid,
        operation=_text(request, "operation"),
        group=_text(kind, "group"),
        kind=_text(kind, "kind"),
        namespace=_text(request, "namespace"),
        name=_text(request, "name") or _text(_member(new or old or {}, "metadata"), "name"),
        new=new,
        old=old,
        size=size,
        user=_member(request, "userInfo"),
    )


def to_wire(review: Review, answer: ReviewResponse) -> dict[str, Any]:
    """Return the AdmissionReview for the response."""
    response: dict[str, Any] = {"uid": review.uid, "allowed": answer.is_allowed}
    if answer.warnings:
        response["warnings"] = [one_line(warning, _WARNING_BYTES) for warning in answer.warnings[:_WARNINGS]]
    if not answer.is_allowed:
        response["status"] = _status(review, answer)
    return {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": response}


def one_line(text: str, limit: int) -> str:
    """Return `text` without control characters and within `limit` UTF-8 bytes. A cut text ends in an ellipsis."""
    line = "".join(char if char.isprintable() else " " for char in text)
    encoded = line.encode()
    if len(encoded) <= limit:
        return line
    return encoded[: limit - 3].decode(errors="ignore") + "…"


def _status(review: Review, answer: ReviewResponse) -> dict[str, Any]:
    causes = [
        {"reason": cause.reason, "field": cause.field, "message": one_line(cause.message, _CAUSE_BYTES)}
        for cause in answer.causes[:_CAUSES]
    ]
    more = len(answer.causes) - _CAUSES
    if more > 0:
        first = answer.causes[0]
        causes.append({"reason": first.reason, "field": first.field, "message": f"and {more} more like these"})
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "code": _UNPROCESSABLE,
        "reason": "Invalid",
        "message": f"{review.kind} {review.name!r} is refused: {' '.join(_sentences(answer))}",
        "details": {"name": review.name, "group": review.group, "kind": review.kind, "causes": causes},
    }


def _sentences(answer: ReviewResponse) -> Iterator[str]:
    """Yield the parts of the overall message, numbered if there are several. Parts beyond the limit are counted."""
    left, total = _MESSAGE_BYTES, len(answer.causes)
    for number, cause in enumerate(answer.causes, 1):
        sentence = one_line(f"{cause.field}: {cause.message}", _CAUSE_BYTES)
        left -= len(sentence.encode())
        if left < 0:
            yield f"and {total - number + 1} more"
            return
        yield sentence if total == 1 else f"({number} of {total}) {sentence}"


def _member(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    member = value.get(name)
    return member if isinstance(member, Mapping) else {}


def _object(request: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return _member(request, name) or None


def _text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""
