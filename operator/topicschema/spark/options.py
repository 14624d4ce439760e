"""Options of the data sources, parsed. Option names are case-insensitive, as everywhere in Spark.

Spark shows options in plans, logs and its UI. So an option names the file or the environment variable of a credential,
and never contains one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from topicschema.core.errors import StalledError
from topicschema.core.topics import PulsarNamespaceKey, Topic
from topicschema.spark.errors import InvalidOptionError
from topicschema.validation.request import ANYWHERE, OAuth2Flow, PulsarSource

_NAMES: Final = (
    *("adminUrl", "serviceUrl", "topics", "topicsPattern", "namespace", "since", "until", "columns"),
    *("failOnDataLoss", "maxBytesPerPartition", "maxBytesPerTrigger", "redirectHosts"),
    *("tokenFile", "tokenVariable", "certificateFile", "keyFile", "caFile"),
    *("oauth2IssuerUrl", "oauth2ClientId", "oauth2SecretFile", "oauth2Audience", "oauth2Scope"),
)
_KNOWN: Final = {name.lower(): name for name in _NAMES}
_SECRETS: Final = frozenset({"token", "password", "oauth2clientsecret", "oauth2secret", "authparams"})
_SCHEMES: Final = {"adminUrl": ("http://", "https://"), "serviceUrl": ("pulsar://", "pulsar+ssl://")}
_SIZE: Final = re.compile(r"([0-9]{1,12})([kmg]?)b?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_AGE: Final = re.compile(r"([0-9]{1,9})([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPLIT_BYTES: Final = 256 << 20
"""Bytes of a task without the option `maxBytesPerPartition`: one to some seconds of work, by the type of the schema."""


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """Topics to read: by their full names, or all topics of Pulsar namespaces whose full name the pattern matches."""

    topics: tuple[Topic, ...] = ()
    namespaces: tuple[PulsarNamespaceKey, ...] = ()
    pattern: str = ".*"


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in milliseconds since 1970, or an age in milliseconds before the time of the plan."""

    milliseconds: int
    is_age: bool

    def at(self, now: int) -> int:
        """Return the time in milliseconds since 1970."""
        return now - self.milliseconds if self.is_age else self.milliseconds


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of one read. Messages are published at or after `since` and before `until`."""

    pulsar: PulsarSource
    selection: TopicSelection
    since: Moment | None = None
    until: Moment | None = None
    columns: tuple[str, ...] | None = None
    fails_on_data_loss: bool = True
    max_bytes_per_partition: int = _SPLIT_BYTES
    max_bytes_per_trigger: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], others: Iterable[str] = ()) -> Self:
        """Return the options. Raises InvalidOptionError for an unknown, missing or invalid one.

        `others` are the names of a data source's further options, for the error.
        """
        values = _by_name(options, others)
        return cls(
            pulsar=_pulsar(values),
            selection=_selection(values),
            since=_moment("since", values.get("since")),
            until=_moment("until", values.get("until")),
            columns=items_of("columns", values["columns"]) if "columns" in values else None,
            fails_on_data_loss=_flag("failOnDataLoss", values.get("failOnDataLoss", "true")),
            max_bytes_per_partition=_size(
                "maxBytesPerPartition", values.get("maxBytesPerPartition", str(_SPLIT_BYTES))
            ),
            max_bytes_per_trigger=(
                _size("maxBytesPerTrigger", values["maxBytesPerTrigger"]) if "maxBytesPerTrigger" in values else None
            ),
        )


def _by_name(options: Mapping[str, str], others: Iterable[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in options.items():
        if name.lower() in _SECRETS:
            raise InvalidOptionError(
                f"option {name}: Spark shows options in plans and its UI. Write the credential into a file that the "
                "driver and the executors can read, and name it with tokenFile or oauth2SecretFile, or name an "
                "environment variable with tokenVariable"
            )
        if name.lower() not in _KNOWN:
            raise InvalidOptionError(f"option {name} does not exist. The options are {', '.join((*_NAMES, *others))}")
        values[_KNOWN[name.lower()]] = value
    return values


def _pulsar(values: Mapping[str, str]) -> PulsarSource:
    for name, schemes in _SCHEMES.items():
        url = values.get(name, "")
        if not url.startswith(schemes):
            raise InvalidOptionError(
                f"option {name}: {url!r}; write {' or '.join(f'{each}HOST:PORT' for each in schemes)}"
            )
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise InvalidOptionError(f"option {name}: a URL with a user's name would show it: use tokenFile")
    return PulsarSource(
        values["adminUrl"],
        values["serviceUrl"],
        token_file=values.get("tokenFile"),
        token_variable=values.get("tokenVariable"),
        certificate_file=values.get("certificateFile"),
        key_file=values.get("keyFile"),
        ca=_ca(values.get("caFile")),
        oauth2=_oauth2(values),
        redirect_hosts=items_of("redirectHosts", values["redirectHosts"]) if "redirectHosts" in values else ANYWHERE,
    )


def _ca(path: str | None) -> str | None:
    """Return the certificates. They are public, so a plan may have them."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InvalidOptionError(f"option caFile: {path}: {error.strerror}") from None


def _oauth2(values: Mapping[str, str]) -> OAuth2Flow | None:
    if "oauth2IssuerUrl" not in values:
        return None
    for name in ("oauth2ClientId", "oauth2SecretFile"):
        if name not in values:
            raise InvalidOptionError(f"option {name} is missing: oauth2IssuerUrl needs it")
    return OAuth2Flow(
        values["oauth2IssuerUrl"],
        values["oauth2ClientId"],
        values["oauth2SecretFile"],
        values.get("oauth2Audience", ""),
        values.get("oauth2Scope", ""),
    )


def _selection(values: Mapping[str, str]) -> TopicSelection:
    names = [name for name in ("topics", "topicsPattern", "namespace") if name in values]
    if len(names) != 1:
        raise InvalidOptionError("set exactly one of the options topics, topicsPattern and namespace")
    (name,) = names
    try:
        match name:
            case "topics":
                return TopicSelection(topics=tuple(map(Topic.parse, items_of(name, values[name]))))
            case "namespace":
                keys = tuple(PulsarNamespaceKey.parse("", each) for each in items_of(name, values[name]))
                return TopicSelection(namespaces=keys)
            case _:
                return _of_pattern(values[name])
    except StalledError as error:
        raise InvalidOptionError(f"option {name}: {error.message}") from None


def _of_pattern(pattern: str) -> TopicSelection:
    """Return the topics of a pattern. As in Pulsar's clients, its first two parts name a Pulsar namespace."""
    parts = pattern.removeprefix("persistent://").split("/", 2)
    if len(parts) != 3:  # noqa: PLR2004  # tenant, namespace, the pattern of the local name
        raise InvalidOptionError(f"option topicsPattern: {pattern!r}; write persistent://TENANT/NAMESPACE/REGEX")
    try:
        re.compile(parts[2])
    except re.error as error:
        raise InvalidOptionError(f"option topicsPattern: {parts[2]!r} is no regular expression: {error}") from None
    return TopicSelection(namespaces=(PulsarNamespaceKey.parse("", f"{parts[0]}/{parts[1]}"),), pattern=parts[2])


def items_of(name: str, text: str) -> tuple[str, ...]:
    """Return the items of an option, separated by commas. Raises InvalidOptionError for an empty one."""
    items = tuple(each.strip() for each in text.split(","))
    if not all(items):
        raise InvalidOptionError(f"option {name}: {text!r} has an empty item")
    return items


def _flag(name: str, text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise InvalidOptionError(f"option {name}: {text!r}; write true or false")
    return text.lower() == "true"


def _size(name: str, text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _UNITS[match[2].lower()] if match is not None else 0
    if not size:
        raise InvalidOptionError(f"option {name}: {text!r}; write a number of bytes, for example 64m")
    return size


def _moment(name: str, text: str | None) -> Moment | None:
    if text is None:
        return None
    age = _AGE.fullmatch(text.strip())
    if age is not None:
        return Moment(1000 * int(age[1]) * _SECONDS[age[2]], is_age=True)
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        example = "2026-01-31T12:00:00Z, or an age such as 24h or 7d"
        raise InvalidOptionError(f"option {name}: {text!r}; write a time such as {example}") from None
    known = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return Moment(round(known.timestamp() * 1000), is_age=False)
