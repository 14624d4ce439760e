"""`topicschema fingerprint`: what a broker tells schemas apart by (docs/spec/fingerprint.md)."""

import sys
from argparse import Namespace

from topicschema.cli import asking, files, schema_files, telling
from topicschema.cli.asking import Refusal
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarLine, SchemaInfo


def run(options: Namespace) -> int:
    """Print the fingerprint; 1, with the reason on standard error, when the text is no schema."""
    kind = schema_files.kind_of(options.type, [options.file])
    [text] = schema_files.read_all(kind, [options.file], options)
    info = SchemaInfo(kind, text)
    try:
        print(formats.parse(asking.as_stored(info), PulsarLine(options.line)).fingerprint)
    except InvalidSchemaError as error:
        shown = "" if schema_files.is_proto(options.file) else text.decode(errors="replace")
        print(telling.refused(shown, Refusal.of(error), files.shown(options.file)), file=sys.stderr)
        return INCOMPATIBLE
    return COMPATIBLE
