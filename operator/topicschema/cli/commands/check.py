"""`topicschema check`: may a schema follow others? One candidate, or a batch."""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from topicschema.cli import arguments, plugins
from topicschema.cli.check import batch, engine, json_io
from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import Question
from topicschema.cli.check.text import Files
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files, schema_files
from topicschema.cli.inputs.files import UsageError
from topicschema.core.policy import BrokerProfile, Policy, Strictness
from topicschema.core.schemas import TEXTLESS, PulsarLine, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def run(options: Namespace) -> int:
    """Answer on standard output; the exit code is the verdict."""
    if options.batch:
        return _batch(options)
    missing = "name the CANDIDATE file, or use --batch"
    *history, candidate = history_and(options.candidate, options, TEXTLESS, missing)
    profile = BrokerProfile(PulsarLine(options.pulsar_version), checkers=plugins.load())
    policy = Policy(Strategy(options.strategy), Strictness(options.strictness), profile)
    question = Question(candidate, tuple(history), policy)
    answer = engine.answer(question)
    if options.output == "json":
        print(json.dumps(json_io.line_of(options.candidate, answer), indent=2))
    else:
        asked = candidate.type.value if options.candidate is None else files.shown(options.candidate)
        earlier = tuple(map(files.shown, options.history))
        print(check_text.told(question, answer, Files(asked, earlier, not schema_files.is_proto(asked))))
    return COMPATIBLE if answer.is_compatible else INCOMPATIBLE


def history_and(
    name: str | None, options: Namespace, textless: Collection[SchemaType], otherwise: str
) -> list[SchemaInfo]:
    """The history, and last the schema in the file.

    Without a file it is the type's, which needs no text; UsageError with `otherwise` where it does.
    """
    if name is not None:
        return schemas([*options.history, name], options)
    kind = schema_files.kind_of(options.type, options.history)
    if kind not in textless:
        raise UsageError(otherwise)
    without_text = SchemaInfo(kind, b"", properties(options.property))
    return [*schemas(options.history, options), without_text]


def schemas(names: Sequence[str], options: Namespace) -> list[SchemaInfo]:
    """The schemas in the files, as they are sent over REST; UsageError where one cannot be read.

    A manifest tells its type and properties; files beside it that are none are of its type, and have its properties.
    """
    texts = files.read_all(names)
    in_manifests = [
        _of_manifest(name, text, options) if schema_files.is_manifest(name, text) else None
        for name, text in zip(names, texts, strict=True)
    ]
    told = next(filter(None, reversed(in_manifests)), None)
    plain = [name for name, info in zip(names, in_manifests, strict=True) if info is None]
    kind = schema_files.kind_of(options.type if told is None else told.type.value, plain)
    given = {} if told is None else told.properties
    if told is None and "property" in vars(options):  # not of `fingerprint`, which needs none
        given = properties(options.property)
    kinds = [kind if info is None else SchemaType.NONE for info in in_manifests]
    made = schema_files.made_of(kinds, names, texts, options)
    return [info or SchemaInfo(kind, text, given) for info, text in zip(in_manifests, made, strict=True)]


def _of_manifest(name: str, text: bytes, options: Namespace) -> SchemaInfo:
    from topicschema.cli.inputs import manifests  # noqa: PLC0415  # YAML and the CRDs' room, for manifests alone

    shown = files.shown(name)
    if options.type is not None or vars(options).get("property"):
        raise UsageError(f"{shown} has its own type and properties: remove --type and --property")
    return manifests.schema(shown, text)


def _batch(options: Namespace) -> int:
    given = [name for name, default in arguments.NOT_WITH_BATCH.items() if getattr(options, name) != default]
    if given:
        raise UsageError(f"--batch takes {given[0]} from the lines of standard input")
    return batch.answer_all(files.standard_input(), sys.stdout, sys.stderr, plugins.load())


def properties(given: Sequence[str]) -> Mapping[str, str]:
    """The properties; UsageError where one is not NAME=TEXT or is given twice."""
    parts = [each.partition("=") for each in given]
    wrong = [name for name, sign, _ in parts if not (name and sign)]
    if wrong:
        raise UsageError(f"--property {wrong[0]!r}: write NAME=TEXT")
    read = {name: text for name, _, text in parts}
    if len(read) < len(parts):
        twice = next(name for name, count in Counter(name for name, _, _ in parts).items() if count > 1)
        raise UsageError(f"--property {twice} is given twice")
    return read
