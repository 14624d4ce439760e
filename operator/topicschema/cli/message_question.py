"""From the options of `validate-messages` to the question that a run is asked."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import fields
from pathlib import PurePath
from typing import Any, Final

import yaml

from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.cli import asking, check, files, payloads, schema_files
from topicschema.cli.files import WrongInputError
from topicschema.core import formats
from topicschema.core.errors import StalledError
from topicschema.core.schemas import PRIMITIVES, PulsarLine, SchemaInfo, SchemaType
from topicschema.reconcile import candidates
from topicschema.spark import question
from topicschema.spark.question import Columns, FileFormat, FilesAsked, PulsarAsked, Question, Sample, Tolerance

_MANIFESTS: Final = frozenset({".yaml", ".yml"})
_PLAIN: Final = frozenset({*PRIMITIVES, SchemaType.BYTES, SchemaType.NONE})


def question_of(options: Namespace) -> Question:
    """The question; WrongInputError where the options make none."""
    is_topic = options.pulsar is not None
    if is_topic and len(options.messages) > 1:
        raise WrongInputError("with --pulsar name one topic")
    candidate, history = _schemas(options)
    versions = dict(enumerate(history, options.first_version))
    if options.written_with is not None and options.written_with not in versions:
        raise WrongInputError(f"--written-with {options.written_with}: no --history has that number")
    try:
        return Question(
            candidate=candidate,
            versions=versions,
            topic=options.messages[0] if is_topic else ", ".join(map(question.shown, options.messages)),
            files=None if is_topic else _files(options),
            pulsar=_pulsar(options) if is_topic else None,
            line=PulsarLine(options.line),
            sample=Sample(options.max_messages, options.percent, options.since, options.seed),
            tolerance=Tolerance(options.tolerance),
            include_values=options.include_values,
            ask_writers=options.writers,
        )
    except ValueError as error:
        raise WrongInputError(str(error)) from None


def _schemas(options: Namespace) -> tuple[SchemaInfo, list[SchemaInfo]]:
    """The candidate, and the versions of its type."""
    if options.schema is not None and PurePath(options.schema).suffix in _MANIFESTS:
        candidate = _of_manifest(options)
        kind, texts = candidate.type, schema_files.read_all(candidate.type, options.history, options)
    else:
        names = [*options.history, *([] if options.schema is None else [options.schema])]
        kind = schema_files.kind_of(options.type, names)
        if options.schema is None and kind not in _PLAIN:
            raise WrongInputError("name the proposed schema with --schema FILE")
        *texts, last = [*schema_files.read_all(kind, names, options), *([b""] if options.schema is None else [])]
        candidate = _stored(kind, last, options, options.schema or kind.value)
    read = zip(texts, options.history, strict=True)
    return candidate, [_stored(kind, text, options, name) for text, name in read]


def _stored(kind: SchemaType, text: bytes, options: Namespace, name: str) -> SchemaInfo:
    info = SchemaInfo(kind, text, check.properties(options.property, kind))
    return payloads.usable(lambda: _demanded(asking.as_stored(info), PulsarLine(options.line)), name)


def _demanded(info: SchemaInfo, line: PulsarLine) -> SchemaInfo:
    if info.type not in _PLAIN:
        formats.parse(info, line)
    return info


def _of_manifest(options: Namespace) -> SchemaInfo:
    """The schema of the one TopicSchema in the file."""
    name = files.shown(options.schema)
    if options.type is not None or options.property:
        raise WrongInputError(f"{name} tells type and properties itself: leave out --type and --property")
    try:
        found = [each for each in yaml.safe_load_all(files.read(options.schema)) if _is_topic_schema(each)]
        if len(found) != 1:
            raise WrongInputError(f"{name} has {len(found)} TopicSchemas; one is needed")
        spec = decode(TopicSchemaSpec, found[0].get("spec"))
    except yaml.YAMLError as error:
        raise WrongInputError(f"{name} is not YAML: {getattr(error, 'problem', error)}") from None
    except StalledError as error:
        raise WrongInputError(f"{name}: {error.message}") from None
    if candidates.sources_of(spec) is not None:
        raise WrongInputError(f"{name} has .proto sources: name the file with the root message instead")
    return payloads.usable(lambda: _demanded(candidates.info_of(spec), PulsarLine(options.line)), options.schema)


def _is_topic_schema(resource: Any) -> bool:
    return isinstance(resource, dict) and resource.get("kind") == "TopicSchema"


def _files(options: Namespace) -> FilesAsked:
    form = None if options.format is None else FileFormat(options.format)
    return FilesAsked(tuple(options.messages), form, _columns(options.column), options.written_with)


def _columns(given: Sequence[str]) -> Columns:
    known = {each.name for each in fields(Columns)}
    named: dict[str, str] = {}
    for each in given:
        what, sign, name = each.partition("=")
        if not sign or what not in known or what in named:
            raise WrongInputError(
                f"--column {each!r}: write WHAT=NAME once, WHAT being one of {', '.join(sorted(known))}"
            )
        named[what] = name
    return Columns(**named)


def _pulsar(options: Namespace) -> PulsarAsked:
    if options.format is not None or options.column or options.written_with is not None:
        raise WrongInputError("--format, --column and --written-with are for files")
    admin_url, service_url = options.pulsar
    return PulsarAsked(
        admin_url, service_url, options.token_file, options.certificate_file, options.key_file, options.ca_file
    )
