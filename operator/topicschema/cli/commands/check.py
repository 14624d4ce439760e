"""`topicschema check`: may a schema follow others? It checks one candidate, or a batch."""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from topicschema.cli import arguments, plugins
from topicschema.cli.check import batch, engine, json_io
from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import CheckRequest
from topicschema.cli.check.text import Files
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files, schema_files
from topicschema.cli.inputs.files import UsageError
from topicschema.core.policy import BrokerProfile, Policy, Strictness
from topicschema.core.schemas import TEXTLESS, PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def run(options: Namespace) -> int:
    """Print the answer. Return the exit code for the verdict."""
    if options.batch:
        return _batch(options)
    texts = {}
    if len(options.paths) == 1 and not _is_folder(options.paths[0]):
        [name] = options.paths
        texts[name] = files.read(name)
        if not schema_files.is_manifest(name, texts[name]):
            return _check_schema(name, texts, options)
    elif not options.paths:
        return _check_schema(None, texts, options)
    from topicschema.cli.check import manifest_check  # noqa: PLC0415  # YAML and the CRDs, only for manifests

    return manifest_check.run(options, texts)


def policy_of(options: Namespace) -> Policy:
    """Return the rules that the options set."""
    profile = BrokerProfile(PulsarVersion(options.pulsar_version), checkers=plugins.load())
    return Policy(Strategy(options.strategy), Strictness(options.strictness), profile)


def _is_folder(name: str) -> bool:
    return name != files.STANDARD_INPUT and Path(name).is_dir()


def _check_schema(name: str | None, texts: Mapping[str, bytes], options: Namespace) -> int:
    """Check one schema against the files of --history."""
    if options.git is not None or options.live:
        raise UsageError(f"--{'live' if options.live else 'git'} is for manifests, and {name} is none")
    missing = "name a PATH, or use --batch"
    *history, candidate = history_and(name, options, TEXTLESS, missing, texts)
    request = CheckRequest(candidate, tuple(history), policy_of(options))
    answer = engine.answer(request)
    earlier = tuple(map(files.shown, options.history))
    candidate_name = candidate.type.value if name is None else files.shown(name)
    may_lack = bool(earlier) and request.strategy.is_transitive
    if options.output == "json":
        more = {"comparedVersions": len(earlier), "mayLackVersions": may_lack}
        print(json.dumps({**json_io.line_of(name, answer, request.policy.profile.pulsar_version), **more}, indent=2))
    else:
        if may_lack:
            print(check_text.incomplete(len(earlier)))
        has_excerpts = not schema_files.is_proto(candidate_name)
        print(check_text.render(request, answer, Files(candidate_name, earlier, has_excerpts)))
    return COMPATIBLE if answer.is_compatible else INCOMPATIBLE


def history_and(
    name: str | None,
    options: Namespace,
    textless: Collection[SchemaType],
    otherwise: str,
    texts: Mapping[str, bytes] = MappingProxyType({}),
) -> list[SchemaInfo]:
    """Return the history, with the schema in the file last.

    Without a file the last one is that of the type, if it needs no text. Otherwise raises UsageError with `otherwise`.
    """
    if name is not None:
        return schemas([*options.history, name], options, texts)
    beside = [] if vars(options).get("history_type") is not None else options.history
    kind = schema_files.kind_of(options.type, beside)
    if kind not in textless:
        raise UsageError(otherwise)
    without_text = SchemaInfo(kind, b"", properties(options.property))
    return [*schemas(options.history, options), without_text]


def schemas(
    names: Sequence[str], options: Namespace, texts_read: Mapping[str, bytes] = MappingProxyType({})
) -> list[SchemaInfo]:
    """Return the schemas in the files, in the form of the REST API. Raises UsageError if one cannot be read.

    A manifest sets type and properties, also of the plain files beside it. `texts_read` has files that were read.
    """
    texts = files.read_all(names, texts_read)
    inputs = [
        replace(each, info=_of_manifest(each.name, each.text, options))
        if each.info is None and schema_files.is_manifest(each.name, each.text)
        else each
        for each in schema_files.expanded(names, texts, options)
    ]
    own = next((each.info for each in reversed(inputs) if each.info is not None), None)
    plain = [each.name for each in inputs if each.info is None]
    kind = schema_files.kind_of(options.type or (None if own is None else own.type.value), plain)
    plain_properties = {} if own is None else own.properties
    if own is None and "property" in vars(options):  # `fingerprint` has no properties
        plain_properties = properties(options.property)
    earlier, count = kind, len(vars(options).get("history", ()))
    if vars(options).get("history_type") is not None:
        earlier = schema_files.kind_of(options.history_type, [each.name for each in inputs[:count]], "--history-type")
    kinds = [earlier if number < count else kind for number in range(len(inputs))]
    return schema_files.infos_of(kinds, inputs, options, plain_properties)


def _of_manifest(name: str, text: bytes, options: Namespace) -> SchemaInfo:
    from topicschema.cli.inputs import manifests  # noqa: PLC0415  # YAML and the CRDs, only for manifests

    shown = files.shown(name)
    if options.type is not None or vars(options).get("property"):
        raise UsageError(f"{shown} has its own type and properties: remove --type and --property")
    return manifests.schema(shown, text, PulsarVersion(options.pulsar_version))


def _batch(options: Namespace) -> int:
    conflicting = [name for name, default in arguments.NOT_WITH_BATCH.items() if getattr(options, name) != default]
    if conflicting:
        raise UsageError(f"--batch takes {conflicting[0]} from the lines of standard input")
    return batch.answer_all(files.standard_input(), sys.stdout, sys.stderr, plugins.load())


def properties(texts: Sequence[str]) -> Mapping[str, str]:
    """Parse the properties. Raises UsageError if one is not NAME=TEXT or is given twice."""
    parts = [each.partition("=") for each in texts]
    wrong = [name for name, sign, _ in parts if not (name and sign)]
    if wrong:
        raise UsageError(f"--property {wrong[0]!r}: write NAME=TEXT")
    read = {name: text for name, _, text in parts}
    if len(read) < len(parts):
        twice = next(name for name, count in Counter(name for name, _, _ in parts).items() if count > 1)
        raise UsageError(f"--property {twice} is given twice")
    return read
