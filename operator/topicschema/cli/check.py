"""`topicschema check`: may a schema follow others? One candidate, or a batch."""

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence

from topicschema.cli import arguments, asking, batch, files, plugged, schema_files, telling, wire
from topicschema.cli.asking import Question
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.files import WrongInputError
from topicschema.cli.telling import Files
from topicschema.core.policy import BrokerProfile, Policy, Strictness
from topicschema.core.schemas import PRIMITIVES, PulsarLine, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


def run(options: Namespace) -> int:
    """Answer on standard output; the exit code is the verdict."""
    if options.batch:
        return _batch(options)
    names = [*options.history, *([] if options.candidate is None else [options.candidate])]
    kind = schema_files.kind_of(options.type, names)
    if options.candidate is None and kind not in PRIMITIVES:
        raise WrongInputError("name the CANDIDATE's file, or ask with --batch")
    given = properties(options.property, kind)
    texts = [*schema_files.read_all(kind, names, options), *([b""] if options.candidate is None else [])]
    *history, candidate = (SchemaInfo(kind, text, given) for text in texts)
    profile = BrokerProfile(PulsarLine(options.line), checkers=plugged.load())
    policy = Policy(Strategy(options.strategy), Strictness(options.strictness), profile)
    question = Question(candidate, tuple(history), policy)
    answer = asking.answer(question)
    if options.output == "json":
        print(json.dumps(wire.line_of(options.candidate, answer), indent=2))
    else:
        asked = kind.value if options.candidate is None else files.shown(options.candidate)
        earlier = tuple(map(files.shown, options.history))
        print(telling.told(question, answer, Files(asked, earlier, not schema_files.is_proto(asked))))
    return COMPATIBLE if answer.is_compatible else INCOMPATIBLE


def _batch(options: Namespace) -> int:
    given = [name for name, default in arguments.NOT_WITH_BATCH.items() if getattr(options, name) != default]
    if given:
        raise WrongInputError(f"--batch takes {given[0]} from the lines of standard input")
    return batch.answer_all(files.standard_input(), sys.stdout, sys.stderr, plugged.load())


def properties(given: Sequence[str], kind: SchemaType) -> Mapping[str, str]:
    """The properties; WrongInputError where one is not NAME=TEXT or is given twice, or a pair's types are not told."""
    parts = [each.partition("=") for each in given]
    wrong = [name for name, sign, _ in parts if not (name and sign)]
    if wrong:
        raise WrongInputError(f"--property {wrong[0]!r}: write NAME=TEXT")
    read = {name: text for name, _, text in parts}
    if len(read) < len(parts):
        twice = next(name for name, count in Counter(name for name, _, _ in parts).items() if count > 1)
        raise WrongInputError(f"--property {twice} is given twice")
    needed = ("key.schema.type", "value.schema.type") if kind is SchemaType.KEY_VALUE else ()
    for name in needed:
        if name not in read:  # the broker would take it for BYTES, and compare nothing
            raise WrongInputError(f"what is the pair made of? add --property {name}=TYPE")
    return read
