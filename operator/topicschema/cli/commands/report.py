"""`topicschema report`: the HTML page of a validation's report."""

import json
from argparse import Namespace
from typing import Final

from topicschema.cli.exits import COMPATIBLE
from topicschema.cli.inputs.files import UsageError, read, shown, write
from topicschema.validation.report.html_report import page

_NO_REPORT: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that JSON of another form causes: a pod may write anything."""


def run(options: Namespace) -> int:
    """Write the page."""
    content = read(options.file)
    try:
        html = page(json.loads(content))
    except _NO_REPORT:
        raise UsageError(f"{shown(options.file)}: not a report of a validation (report.json)") from None
    write(options.output, html)
    return COMPATIBLE
