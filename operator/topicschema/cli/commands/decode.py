"""`topicschema decode`: the value of a payload, as JSON."""

import json
import sys
from argparse import Namespace
from typing import Any

from topicschema import payload
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files, payloads
from topicschema.core.errors import InvalidPayloadError
from topicschema.payload import display_json


def run(options: Namespace) -> int:
    """Print the value. Findings, those that a consumer ignores included, go to standard error."""
    schema, writer = payloads.schema(options), payloads.writer(options)
    reader = payloads.usable(lambda: payload.reader(schema, writer), options.schema)
    key, content = payloads.key(options, schema), payloads.read(options.payload, options)
    value, findings = reader.read(content, key)
    for each in findings:
        print(f"topicschema decode: {payloads.summary(each)}", file=sys.stderr)
    if not all(each.is_tolerated for each in findings):
        return INCOMPATIBLE
    try:
        print(shown(display_json.to_json(schema, value)))
    except InvalidPayloadError as error:
        print(f"topicschema decode: {files.shown(options.payload)}: {error.sentence}", file=sys.stderr)
        return INCOMPATIBLE
    return COMPATIBLE


def shown(value: Any) -> str:
    """Return the indented JSON. Raises InvalidPayloadError TOO_DEEP."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except RecursionError:
        raise InvalidPayloadError("TOO_DEEP", "the value is nested deeper than JSON is written") from None
