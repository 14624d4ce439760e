"""`topicschema fingerprint`: the hash by which a broker deduplicates schemas (docs/spec/fingerprint.md)."""

import sys
from argparse import Namespace

from topicschema.cli.check import text
from topicschema.cli.check.engine import Refusal
from topicschema.cli.commands import check
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files, schema_files
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarVersion


def run(options: Namespace) -> int:
    """Print the fingerprint. Return 1, with the reason on standard error, if the text is no schema."""
    [info] = check.schemas([options.file], options)
    try:
        print(formats.parse(formats.as_stored(info), PulsarVersion(options.pulsar_version)).fingerprint)
    except InvalidSchemaError as error:
        shown = "" if schema_files.is_proto(options.file) else info.schema.decode(errors="replace")
        reason = text.refused(shown, Refusal.of(error), files.shown(options.file), options.pulsar_version)
        print(reason, file=sys.stderr)
        return INCOMPATIBLE
    return COMPATIBLE
