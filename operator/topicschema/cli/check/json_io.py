"""Questions and answers as JSON, for `check --batch` and `check -o json`.

docs/cli.md describes the members. The module is pure: values in, values out.
"""

import json
import math
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeVar

from topicschema.cli.check.engine import BrokerOperation, CheckRequest, CheckResult, Refusal, UnusableVersionError
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.policy import BrokerProfile, Policy, Strictness
from topicschema.core.schemas import EXTERNAL, NEWEST, PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

E = TypeVar("E", bound=StrEnum)
_NATIVE: Final = SchemaType.PROTOBUF_NATIVE.value
_UNNAMED: Final = "is not a type of Pulsar"
_LATER: Final = "is a type of Pulsar 4.1 and later, which no Pulsar 4.0 broker knows"
_SETTINGS: Final = ("AUTO", "AUTO_PRODUCE")
"""Clients' names for types that are never stored, beside those of SchemaType."""


_Part = tuple[str, bytes, Mapping[str, str]]
_EnvelopeOf = Callable[[str, Mapping[str, str]], bytes]
Compile = Callable[[PulsarVersion, str, Mapping[str, str]], bytes]
"""Compiler of an envelope from a root message and files, as the Java client of that Pulsar version makes it.

Raises InvalidSchemaError, or WaitingError of a machine at fault.
"""


class UnusableSourcesError(Exception):
    """Sources of a schema that cannot be compiled. The refusal's path leads to them in the request."""

    def __init__(self, path: str, error: InvalidSchemaError) -> None:
        super().__init__(path)
        where = "" if error.place.line is None else f"{error.place}: "
        self.refusal = Refusal(error.rule, where + error.message, path + error.place.path.removeprefix("$"))


class InvalidLineError(Exception):
    """A line that is no valid request. `path` names the member, and is empty for the line as a whole."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def read(line: bytes) -> Any:
    """Parse the JSON value of a line. Raises InvalidLineError if it has none."""
    if line.startswith(BOM_UTF8):
        raise InvalidLineError("the line begins with a byte order mark; remove it")
    try:
        return json.loads(line.decode(), parse_constant=_no_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise InvalidLineError(f"byte {error.start} of the line is not UTF-8") from None
    except RecursionError:
        raise InvalidLineError("the line is nested too deep") from None
    except json.JSONDecodeError as error:
        raise InvalidLineError(f"the line is not JSON: {error.msg} at character {error.colno}") from None
    except ValueError:
        raise InvalidLineError("the line has a number that JSON readers do not accept") from None


def id_of(request: Any) -> Any:
    """Return the request's own id, any JSON value, or None. Raises InvalidLineError if it is nested too deep."""
    identity = request.get("id") if isinstance(request, dict) else None
    try:
        json.dumps([[identity]])  # as deep as in the answer
    except RecursionError:
        raise InvalidLineError("id is nested too deep", "id") from None
    return identity


def check_request_of(request: Any, compiled: Compile, checkers: Checkers = BUILT_IN) -> CheckRequest:
    """Parse a request. `checkers` are the plugged-in checkers, `compiled` compiles sources.

    Raises InvalidLineError if it is no request, and UnusableSourcesError for sources. If its only fault is a type
    that Pulsar has no name for, raises InvalidSchemaError or UnusableVersionError, because the broker returns an error.
    """
    members = _Members(request, "")
    default = members.text("type", "")
    candidate = _Members(members.value("candidate"), "candidate")
    history = [_Members(each, f"history[{index}]") for index, each in enumerate(members.list("history"))]
    policy = Policy(
        strategy=members.named("strategy", Strategy, Strategy.UNDEFINED),
        strictness=members.named("strictness", Strictness, Strictness.BROKER),
        profile=BrokerProfile(pulsar_version_of(request), checkers=checkers),
    )
    step = members.named("step", BrokerOperation, BrokerOperation.REGISTER)
    pulsar_version = policy.profile.pulsar_version
    envelope_of = partial(compiled, pulsar_version)
    parts = [each.schema(default, envelope_of) for each in (*history, candidate)]
    versions = tuple(_version(number, part, pulsar_version) for number, part in enumerate(parts[:-1]))
    return CheckRequest(_info(parts[-1], pulsar_version), versions, policy, step)


def pulsar_version_of(request: Any) -> PulsarVersion:
    """Return the Pulsar version that judges the request. Raises InvalidLineError if it is none."""
    return _Members(request, "").named("pulsarVersion", PulsarVersion, NEWEST)


def line_of(identity: Any, answer: CheckResult, pulsar_version: PulsarVersion | None) -> dict[str, Any]:
    """Return the answer as JSON. `pulsar_version` is the one that judged."""
    refusal = answer.refusal
    error = None if refusal is None else _error(refusal.reason, refusal.message, refusal.path)
    return {**_line(identity, error, answer, compatible=answer.is_compatible), "pulsarVersion": pulsar_version}


def no_answer(identity: Any, error: InvalidLineError) -> dict[str, Any]:
    """Return the answer to a line that is no valid request: `compatible` is null."""
    line = _line(identity, _error("INVALID_REQUEST", error.message, error.path), CheckResult(), compatible=None)
    return {**line, "pulsarVersion": None}


def _line(
    identity: Any, error: dict[str, str] | None, answer: CheckResult, *, compatible: bool | None
) -> dict[str, Any]:
    return {
        "id": identity,
        "compatible": compatible,
        "equalTo": answer.equal_to,
        "incompatibilities": findings(answer.incompatibilities),
        "warnings": findings(answer.warnings),
        "error": error,
    }


def _error(reason: str, message: str, path: str) -> dict[str, str]:
    return {"reason": reason, "message": message, "path": path}


def findings(incompatibilities: Iterable[Incompatibility]) -> list[dict[str, Any]]:
    """Return incompatibilities or warnings as JSON."""
    return [
        {
            "rule": each.rule,
            "path": each.path,
            "message": each.message,
            "direction": each.direction,
            "schemaVersion": each.schema_version,
        }
        for each in incompatibilities
    ]


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(number)
    return value


def _no_constant(word: str) -> None:
    raise ValueError(word)


def _info(part: _Part, pulsar_version: PulsarVersion) -> SchemaInfo:
    kind, schema, properties = part
    if kind not in SchemaType.__members__:
        raise InvalidSchemaError("UNSUPPORTED_TYPE", f"{kind[:100]!r} {_why_unsupported(kind, pulsar_version)}")
    return SchemaInfo(SchemaType(kind), schema, properties)


def _why_unsupported(kind: str, pulsar_version: PulsarVersion) -> str:
    if kind == EXTERNAL:
        return (
            _LATER
            if pulsar_version is PulsarVersion.V4_0
            else "is not supported: only the owner of such a schema can judge it"
        )
    if kind.upper() in SchemaType.__members__:
        return f"{_UNNAMED}; write {kind.upper()}"
    return "is a client's setting, never stored with a topic" if kind in _SETTINGS else _UNNAMED


def _version(number: int, part: _Part, pulsar_version: PulsarVersion) -> SchemaInfo:
    try:
        return _info(part, pulsar_version)
    except InvalidSchemaError as error:
        raise UnusableVersionError(number, error) from None


class _Members:
    """Members of a JSON object. Raises InvalidLineError, with the path, for an invalid member."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise InvalidLineError(f"{path or 'the line'} must be a JSON object", path)
        self._members = value
        self._path = path

    def value(self, name: str) -> Any:
        return self._members.get(name)

    def text(self, name: str, default: str) -> str:
        """Return a text. Absent or null is the default."""
        member = self._members.get(name)
        if member is None:
            return default
        if not isinstance(member, str):
            raise self._invalid(name, "must be a text")
        return member

    def list(self, name: str) -> list[Any]:
        """Return an array. Absent or null is an empty one."""
        member = self._members.get(name)
        if member is None:
            return []
        if not isinstance(member, list):
            raise self._invalid(name, "must be an array, oldest first")
        return member

    def named(self, name: str, names: type[E], default: E) -> E:
        """Return one of the names."""
        name_or_default = self.text(name, default)
        try:
            return names(name_or_default)
        except ValueError:
            raise self._invalid(name, f"must be one of {', '.join(names)}") from None

    def schema(self, default_type: str, envelope_of: _EnvelopeOf) -> _Part:
        """Return type, bytes and properties of a schema."""
        kind = self.text("type", default_type)
        if self._members.get("protobuf") is not None:
            return self._compiled(kind or _NATIVE, envelope_of)
        if not kind:
            raise self._invalid("type", "is missing, here and at the top")
        # A lone surrogate has no UTF-8. As three bytes it is refused when the schema is parsed.
        return kind, self.text("schema", "").encode(errors="surrogatepass"), self._properties()

    def _compiled(self, kind: str, envelope_of: _EnvelopeOf) -> _Part:
        if kind != _NATIVE:
            raise self._invalid("type", f"must be {_NATIVE} where there is protobuf")
        if self._members.get("schema") is not None:
            raise self._invalid("schema", "must be absent where there is protobuf")
        path = f"{self._path}.protobuf"
        sources = _Members(self.value("protobuf"), path)
        message, files = sources.text("message", ""), sources.value("files")
        if not message:
            raise InvalidLineError(f"{path}.message is missing", f"{path}.message")
        if not isinstance(files, dict) or not all(isinstance(each, str) for each in files.values()):
            raise InvalidLineError(f"{path}.files must be an object of texts", f"{path}.files")
        try:
            return kind, envelope_of(message, files), self._properties()
        except InvalidSchemaError as error:
            raise UnusableSourcesError(path, error) from None

    def _properties(self) -> Mapping[str, str]:
        members = self._members.get("properties")
        if members is None:
            return {}
        if not isinstance(members, dict) or not all(isinstance(each, str | int | float) for each in members.values()):
            raise self._invalid("properties", "must be an object of texts")
        return {name: each if isinstance(each, str) else json.dumps(each) for name, each in members.items()}

    def _invalid(self, name: str, why: str) -> InvalidLineError:
        path = f"{self._path}.{name}" if self._path else name
        return InvalidLineError(f"{path} {why}", path)
