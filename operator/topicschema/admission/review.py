"""AdmissionReview (admission.k8s.io/v1) on the wire: what was asked, and the answer.

A "no" is always HTTP status 422, reason Invalid, with a message and causes that each stand alone: kubectl shows the
causes when one object was sent and the message when there were several. Any other reason makes kubectl hide our words.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_API_VERSION = "admission.k8s.io/v1"
_UNPROCESSABLE = 422
# From 4,096 bytes on the API server cuts each warning to 256 bytes, and it drops one with a line break or a tab whole.
_WARNING_BYTES = 240
_WARNINGS = 16
_CAUSES = 100
_CAUSE_BYTES = 1_200
_MESSAGE_BYTES = 8_000


class MalformedReviewError(Exception):
    """What was sent is no AdmissionReview; no API server sends that."""


@dataclass(frozen=True, slots=True)
class Review:
    """One question. `old` is None on CREATE, `wanted` on DELETE; both are as the API server has them, unread.

    `size` is that of the whole AdmissionReview in bytes: no object in it is larger. `seconds` is how long the API
    server waits for the answer.
    """

    uid: str
    operation: str
    group: str
    kind: str
    namespace: str
    name: str
    wanted: Mapping[str, Any] | None
    old: Mapping[str, Any] | None
    size: int
    user: Mapping[str, Any] = field(default_factory=dict)
    """Who asks: username, uid, groups, extra."""
    seconds: float = 10.0

    @property
    def changes_spec(self) -> bool:
        """Whether there is a spec to judge: not on DELETE, nor while the object goes away, nor when spec stays."""
        if self.wanted is None or _member(self.wanted, "metadata").get("deletionTimestamp"):
            return False
        return self.old is None or self.wanted.get("spec") != self.old.get("spec")


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason for a refusal: the field of the resource that is wrong, and a sentence that says all by itself."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


@dataclass(frozen=True, slots=True)
class Answer:
    """Allowed unless there are causes. `reason` is ours (for metrics); the client always reads Invalid."""

    reason: str
    warnings: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()

    @property
    def is_allowed(self) -> bool:
        """Whether the edit may be stored."""
        return not self.causes


def allow(*warnings: str) -> Answer:
    """Yes; the most important warning first."""
    return Answer("Allowed", warnings)


def deny(reason: str, causes: Iterable[Cause], warnings: Iterable[str] = ()) -> Answer:
    """No, for these reasons, in order; at least one."""
    return Answer(reason, tuple(warnings), tuple(causes))


def read(body: Any, size: int) -> Review:
    """The question that an AdmissionReview of `size` bytes asks; MalformedReviewError when it is none."""
    request = _member(body, "request") if isinstance(body, Mapping) else {}
    kind = _member(request, "kind")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid or not kind:
        raise MalformedReviewError(
            "not an AdmissionReview of admission.k8s.io/v1: request.uid or request.kind is missing"
        )
    wanted, old = _object(request, "object"), _object(request, "oldObject")
    return Review(
        uid=uid,
        operation=_text(request, "operation"),
        group=_text(kind, "group"),
        kind=_text(kind, "kind"),
        namespace=_text(request, "namespace"),
        name=_text(request, "name") or _text(_member(wanted or old or {}, "metadata"), "name"),
        wanted=wanted,
        old=old,
        size=size,
        user=_member(request, "userInfo"),
    )


def to_wire(review: Review, answer: Answer) -> dict[str, Any]:
    """The AdmissionReview to send back."""
    response: dict[str, Any] = {"uid": review.uid, "allowed": answer.is_allowed}
    if answer.warnings:
        response["warnings"] = [one_line(warning, _WARNING_BYTES) for warning in answer.warnings[:_WARNINGS]]
    if not answer.is_allowed:
        response["status"] = _status(review, answer)
    return {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": response}


def one_line(text: str, limit: int) -> str:
    """`text` without control characters and within `limit` UTF-8 bytes; what is cut ends in an ellipsis."""
    line = "".join(char if char.isprintable() else " " for char in text)
    encoded = line.encode()
    if len(encoded) <= limit:
        return line
    return encoded[: limit - 3].decode(errors="ignore") + "…"


def _status(review: Review, answer: Answer) -> dict[str, Any]:
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


def _sentences(answer: Answer) -> Iterator[str]:
    """The parts of the overall message, numbered where there are several; what does not fit is counted."""
    room, total = _MESSAGE_BYTES, len(answer.causes)
    for number, cause in enumerate(answer.causes, 1):
        sentence = one_line(f"{cause.field}: {cause.message}", _CAUSE_BYTES)
        room -= len(sentence.encode())
        if room < 0:
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
