"""`topicschema fingerprint`: what a broker tells schemas apart by (docs/spec/fingerprint.md)."""

import sys
from argparse import Namespace

from topicschema.cli import asking, check, files, schema_files, telling
from topicschema.cli.asking import Refusal
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarLine


def run(options: Namespace) -> int:
    """Print the fingerprint; 1, with the reason on standard error, when the text is no schema."""
    [info] = check.schemas([options.file], options)
    try:
        print(formats.parse(asking.as_stored(info), PulsarLine(options.line)).fingerprint)
    except InvalidSchemaError as error:
        shown = "" if schema_files.is_proto(options.file) else info.schema.decode(errors="replace")
        print(telling.refused(shown, Refusal.of(error), files.shown(options.file)), file=sys.stderr)
        return INCOMPATIBLE
    return COMPATIBLE
