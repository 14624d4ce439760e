"""Attempts to connect as `topicschema can-connect` is asked about them, and what it tells."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from broker.clients.attempts import Attempt
from support import command_line
from topicschema.core.schemas import SchemaInfo, SchemaType


@dataclass(frozen=True, slots=True)
class Told:
    """The command's exit code, and the members of its answer that a broker's answer can be compared with."""

    code: int
    outcome: str
    version: int | None
    error: dict[str, str] | None

    @classmethod
    def expected_of(cls, attempt: Attempt) -> "Told":
        expected = attempt.expected
        error = None if expected.error is None else {"name": expected.error.value, "message": expected.message}
        return cls(0 if expected.may_connect else 1, expected.outcome, expected.schema_version, error)


def is_sayable(attempt: Attempt) -> bool:
    """Whether a command line can say it: versions of one type, none of them deleted, and no pairs."""
    types = {None if info is None else info.type for info in attempt.state.history}
    is_pair = attempt.sent is not None and attempt.sent.type is SchemaType.KEY_VALUE
    return len(types) <= 1 and not types & {None, SchemaType.KEY_VALUE} and not is_pair


def differing(attempts: Sequence[Attempt], folder: Path) -> list[tuple[Attempt, Told]]:
    """Those of which the command tells something else than is expected, and what; its files go into the folder."""
    told = ((each, _told(command_line.run(folder, *_arguments(each, folder)))) for each in attempts)
    return [(each, one) for each, one in told if one != Told.expected_of(each)]


def _arguments(attempt: Attempt, folder: Path) -> list[str]:
    sent, state = attempt.sent, attempt.state
    said = [f"--pulsar-version={state.line}", f"--strategy={state.strategy}", "--output=json"]
    said += [] if sent is None else [f"--type={sent.type}"]
    for number, info in enumerate(state.history):
        assert info is not None
        said += [f"--history={_file(info, folder)}", *([] if number else [f"--history-type={info.type}"])]
    flags = {
        "--no-auto-update": not state.allows_auto_update,
        "--enforced": state.enforces_validation,
        "--topic-active": state.is_in_use,
    }
    said += [flag for flag, is_said in flags.items() if is_said]
    return ["can-connect", attempt.client, *said, *([_file(sent, folder)] if sent and sent.schema else [])]


def _file(info: SchemaInfo, folder: Path) -> str:
    path = folder / hashlib.sha256(info.schema).hexdigest()
    path.write_bytes(info.schema)
    return str(path)


def _told(answer: CompletedProcess[str]) -> Told:
    found = json.loads(answer.stdout)
    return Told(answer.returncode, found["outcome"], found["schemaVersion"], found["error"])
