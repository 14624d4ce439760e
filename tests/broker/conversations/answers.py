"""Answers of Pulsar's REST API in the form in which a recording has them, and the recording itself.

Timestamps and the ledgers of metadata are left out. An error page of the broker's container counts as a page, and a 500
as one with a reason: both have texts of Java classes.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from broker.conversations.script import Conversation, Request

RECORDING: Final = Path(__file__).with_name("recording.json")
_PAIR: Final = {
    "key.schema.name": "", "key.schema.type": "BYTES", "key.schema.properties": "{}", "value.schema.name": "",
    "value.schema.type": "BYTES", "value.schema.properties": "{}", "kv.encoding.type": "INLINE",
}  # fmt: skip
_VARYING: Final = ("timestamp", "ledgerId", "entryId")
Answer = list[Any]
"""The status, and the body as it counts."""
Send = Callable[[str, str, bytes | None, dict[str, str]], tuple[int, str]]
"""Sends method, path after `/admin/v2`, body and headers; returns status and body."""


def answer_of(status: int, text: str) -> Answer:
    """Return the answer in the form of a recording."""
    try:
        body = json.loads(text, strict=False) if text else None
    except ValueError:
        return [status, "text"] if status < 400 else [status]
    if status == 500:
        return [status, sorted(body)]
    if status in (404, 412) and isinstance(body, dict) and "reason" in body:
        return [status, body]
    return [status] if status >= 400 else [status, _without_time(body)]


def _without_time(body: Any) -> Any:
    if isinstance(body, list):
        return [_without_time(each) for each in body]
    if not isinstance(body, dict):
        return body
    members = {name: _without_time(each) for name, each in body.items() if name not in _VARYING}
    if members.get("type") == "KEY_VALUE":
        members["properties"] = {**_PAIR, **members["properties"]}
        members["data"] = json.loads(members["data"])
    return members


def converse(conversation: Conversation, namespace: str, topic: str, send: Send) -> list[Answer]:
    """Send the requests one after the other and return the answers."""
    return [answer_of(*_sent(each, namespace, topic, send)) for each in conversation.requests]


def _sent(request: Request, namespace: str, topic: str, send: Send) -> tuple[int, str]:
    path = request.path.replace("{namespace}", namespace).replace("{topic}", topic)
    body = None if request.body is None else request.body.encode()
    return send(request.method, path, body, dict(request.headers))


def recorded() -> dict[str, list[Answer]]:
    """Return the recorded answers of each conversation, by its name."""
    answers: dict[str, list[Answer]] = json.loads(RECORDING.read_text(encoding="utf-8"))
    return answers


def record(answers: dict[str, list[Answer]]) -> None:
    """Write the recording, one conversation on a line."""
    lines = (f"{json.dumps(name)}:{json.dumps(each, separators=(',', ':'))}" for name, each in answers.items())
    RECORDING.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
