"""`topicschema validate-messages`: can retained messages be read with a schema? See `validation.run` for the run."""

import json
import sys
import time
from argparse import Namespace
from typing import TYPE_CHECKING

from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE, NO_ANSWER
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError, demand_writable, write
from topicschema.cli.validate_messages import output, request
from topicschema.core.errors import TopicSchemaError
from topicschema.validation.errors import InvalidRequestError
from topicschema.validation.request import ValidationRequest

if TYPE_CHECKING:
    from topicschema.validation.report.report import Report


def run(options: Namespace) -> int:
    """Print the answer. Return the exit code for the verdict."""
    validation_request = request.request_of(options)
    demand_writable(options.report)  # before the run, which may take long
    try:
        report = _report(validation_request, options.processes)
    except InvalidRequestError as error:
        raise UsageError(error.message) from None
    except TopicSchemaError as error:
        print(f"topicschema validate-messages: the run failed: {error.message}", file=sys.stderr)
        return NO_ANSWER
    if options.report is not None:
        write(options.report, json.dumps(report.document, indent=2, ensure_ascii=False) + "\n")
    if options.report != STANDARD_INPUT:
        print("\n".join(output.lines(report.document, writers=options.writers)))
    return COMPATIBLE if report.passes else INCOMPATIBLE


def _report(validation_request: ValidationRequest, processes: int | None) -> "Report":
    try:
        from topicschema.validation.run import runner  # noqa: PLC0415  # numpy and Arrow, which are optional
        from topicschema.validation.sources import opening  # noqa: PLC0415  # as above
    except ImportError as error:
        raise UsageError(f"{error.name} is missing: install topicschema[validation]") from None
    source = opening.source_of(validation_request, time.time_ns() // 1_000_000)
    bar = output.ProgressBar(sys.stderr)
    try:
        return runner.run(validation_request, source, workers=processes, progress=bar)
    finally:
        bar.clear()
