"""Conversion of the options of `validate-messages` to the request of a run."""

import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

from topicschema.cli.commands import check
from topicschema.cli.inputs import payloads
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError
from topicschema.core import formats
from topicschema.core.errors import StalledError
from topicschema.core.schemas import PRIMITIVES, PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.topics import Topic
from topicschema.validation import request
from topicschema.validation.request import (
    Columns,
    FileFormat,
    FileSource,
    PulsarSource,
    Sample,
    Tolerance,
    ValidationRequest,
)

_SCHEMES: Final = (("http", "https"), ("pulsar", "pulsar+ssl"))
"""URL schemes of the broker's admin API and of its service."""
_PLAIN: Final = frozenset({*PRIMITIVES, SchemaType.BYTES, SchemaType.NONE})


def request_of(options: Namespace) -> ValidationRequest:
    """Return the request. Raises UsageError for invalid options."""
    is_topic = options.pulsar is not None
    _demand_names(options)
    candidate, history = _schemas(options)
    versions = dict(enumerate(history, options.first_version))
    if options.written_with is not None and options.written_with not in versions:
        raise UsageError(f"--written-with {options.written_with}: no --history has that number")
    try:
        return ValidationRequest(
            candidate=candidate,
            versions=versions,
            topic=options.messages[0] if is_topic else ", ".join(map(request.shown, options.messages)),
            files=None if is_topic else _files(options),
            pulsar=_pulsar(options) if is_topic else None,
            pulsar_version=PulsarVersion(options.pulsar_version),
            sample=Sample(options.max_messages, options.percent, options.since, options.seed),
            tolerance=Tolerance(options.tolerance),
            include_values=options.include_values,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def _demand_names(options: Namespace) -> None:
    """Raise UsageError for invalid names of messages, broker or credentials."""
    if options.pulsar is not None:
        _demand_broker(options)
    elif not all(options.messages):
        raise UsageError("a name of MESSAGES is empty: is a variable unset?")
    elif STANDARD_INPUT in options.messages:
        raise UsageError("messages are not read from standard input: name a file or a folder")


def _demand_broker(options: Namespace) -> None:
    if len(options.messages) > 1:
        raise UsageError("with --pulsar name one topic")
    try:
        Topic.parse(options.messages[0])
    except StalledError as error:
        raise UsageError(error.message) from None
    for url, schemes in zip(options.pulsar, _SCHEMES, strict=True):
        if not url.startswith(tuple(f"{each}://" for each in schemes)):
            raise UsageError(f"{url!r}: write {' or '.join(f'{each}://HOST:PORT' for each in schemes)}")
    credentials = (options.token_file, options.certificate_file, options.key_file, options.ca_file)
    unreadable = next((each for each in credentials if each is not None and not os.access(each, os.R_OK)), None)
    if unreadable is not None:  # asked, not read: it may be a pipe, which the run reads
        raise UsageError(f"{unreadable}: the file does not exist, or is not readable")


def _schemas(options: Namespace) -> tuple[SchemaInfo, list[SchemaInfo]]:
    """Return the candidate, and the versions that messages were written with."""
    schemas = check.history_and(options.schema, options, _PLAIN, "name the proposed schema with --schema FILE")
    names = [*options.history, options.schema or schemas[-1].type.value]
    pulsar_version, last = PulsarVersion(options.pulsar_version), len(options.history)
    *history, candidate = (
        payloads.usable(lambda: _stored(info, pulsar_version, is_reader=number == last), name)  # noqa: B023  # called at once
        for number, (info, name) in enumerate(zip(schemas, names, strict=True))
    )
    return candidate, history


def _stored(info: SchemaInfo, pulsar_version: PulsarVersion, *, is_reader: bool) -> SchemaInfo:
    """Return the schema as a broker stores it. Raises InvalidSchemaError if it is none.

    Writers' defaults are not validated.
    """
    stored = formats.as_stored(info)
    if stored.type not in _PLAIN:
        formats.parse(stored, pulsar_version, validate_defaults=is_reader)
    return stored


def _files(options: Namespace) -> FileSource:
    form = None if options.format is None else FileFormat(options.format)
    return FileSource(tuple(options.messages), form, _columns(options.column), options.written_with)


def _columns(texts: Sequence[str]) -> Columns:
    known = {each.name for each in fields(Columns)}
    named: dict[str, str] = {}
    for each in texts:
        what, sign, name = each.partition("=")
        if not sign or what not in known or what in named:
            raise UsageError(f"--column {each!r}: write WHAT=NAME once, WHAT being one of {', '.join(sorted(known))}")
        named[what] = name
    return Columns(**named)


def _pulsar(options: Namespace) -> PulsarSource:
    if options.format is not None or options.column or options.written_with is not None:
        raise UsageError("--format, --column and --written-with are for files")
    admin_url, service_url = options.pulsar
    ca = None if options.ca_file is None else Path(options.ca_file).read_text(encoding="utf-8", errors="replace")
    return PulsarSource(
        admin_url,
        service_url,
        options.token_file,
        options.certificate_file,
        options.key_file,
        ca,
        redirect_hosts=request.ANYWHERE,
    )
