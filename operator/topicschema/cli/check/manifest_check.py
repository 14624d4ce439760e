"""`topicschema check` of manifests: reads them and their history, judges them, and prints the verdicts."""

import gc
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.cli.check import report
from topicschema.cli.check.batch import CachedParse
from topicschema.cli.check.git_history import GitHistory, Past
from topicschema.cli.check.resources import Manifest, ManifestReader
from topicschema.cli.check.verdicts import ManifestJudge, NoAnswerError, ResourceVerdict, removed
from topicschema.cli.commands import check
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE, NO_ANSWER, WRONG_INPUT
from topicschema.cli.inputs import files
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError
from topicschema.cli.inputs.git import Repository

_CACHE_BYTES = 512 * 1024 * 1024


def run(options: Namespace, texts: Mapping[str, bytes]) -> int:
    """Print the verdicts. Return the exit code. `texts` has the files that are read already."""
    if options.type is not None or options.property:
        raise UsageError("manifests have their own types and properties: remove --type and --property")
    if options.history and (options.git is not None or options.live):
        raise UsageError(f"--{'live' if options.live else 'git'} has the history: remove --history")
    gc.disable()  # most objects stay until the end
    reader = ManifestReader()
    manifests, errors = reader.read(options.paths, texts)
    try:
        verdicts = _verdicts(manifests, reader, options, is_complete=not errors) if manifests else []
    except NoAnswerError as no_answer:
        print(f"topicschema check: {no_answer}", file=sys.stderr)
        return NO_ANSWER
    if manifests or options.output != "text":
        print(report.FORMS[options.output](verdicts, errors))
    for error in errors:
        print(f"topicschema check: {error}", file=sys.stderr)
    if errors:
        return WRONG_INPUT
    return COMPATIBLE if all(each.answer.is_compatible for each in verdicts) else INCOMPATIBLE


def _verdicts(
    manifests: Sequence[Manifest], reader: ManifestReader, options: Namespace, *, is_complete: bool
) -> list[ResourceVerdict]:
    """Return the verdicts on the resources, and on removed ones if the manifests are complete."""
    if options.live:
        from topicschema.cli.check import live  # noqa: PLC0415  # the cluster's client takes a second

        return live.verdicts(manifests)
    default = check.policy_of(options)
    judge = ManifestJudge(manifests, default, CachedParse(_CACHE_BYTES))
    if options.git is not None:
        repository = Repository.open(_folder(options.paths), options.git)
        judge.git = GitHistory(repository, manifests, reader, default.profile.checkers)
    elif options.history:
        judge.earlier = _earlier(manifests, options)
        judge.names = tuple(map(files.shown, options.history))
    verdicts = judge.verdicts()
    if judge.git is not None and is_complete:
        verdicts += map(removed, judge.git.removed(options.paths, manifests))
    return verdicts


def _folder(names: Sequence[str]) -> Path:
    """Return the folder whose repository has the first file."""
    first = next((Path(each) for each in names if each != STANDARD_INPUT), Path())
    return first if first.is_dir() else first.parent


def _earlier(manifests: Sequence[Manifest], options: Namespace) -> Past:
    """Return the versions of --history. A plain file has the type and the properties of the manifest."""
    topics = [each for each in manifests if each.resource.kind == TOPIC_SCHEMA.name]
    if len(topics) != 1:
        raise UsageError(f"--history is for one TopicSchema, and {len(topics)} are given; --git takes any number")
    [topic] = topics
    name = STANDARD_INPUT if topic.path is None else str(topic.path)
    *earlier, _ = check.schemas([*options.history, name], options, {name: topic.content})
    return Past(earlier)
