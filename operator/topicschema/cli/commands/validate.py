"""`topicschema validate`: are these bytes a payload of that schema, and if not, where and why not?"""

import json
from argparse import Namespace
from collections.abc import Iterator, Sequence

from topicschema import payload
from topicschema.cli.check import text
from topicschema.cli.check.excerpt import printable
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files, payloads
from topicschema.payload import PayloadFinding, auto_produce


def run(options: Namespace) -> int:
    """Print the answer. Return the exit code for the verdict."""
    schema, writer = payloads.schema(options), payloads.writer(options)
    reader = payloads.usable(lambda: payload.reader(schema, writer), options.schema)
    key, content = payloads.key(options, schema), payloads.read(options.payload, options)
    _, findings = reader.read(content, key)
    is_valid = all(each.is_tolerated for each in findings)
    is_sent = not auto_produce.refusals(schema, content) if writer is None else None
    if options.output == "json":
        print(
            json.dumps(
                {**_answer(findings, is_valid=is_valid, is_sent=is_sent), "pulsarVersion": options.pulsar_version},
                indent=2,
            )
        )
    else:
        print("\n".join(_lines(files.shown(options.payload), findings, is_valid=is_valid, is_sent=is_sent)))
        print(text.judged_by(options.pulsar_version))
    return COMPATIBLE if is_valid else INCOMPATIBLE


def _answer(findings: Sequence[PayloadFinding], *, is_valid: bool, is_sent: bool | None) -> dict[str, object]:
    rows = [
        {
            "rule": each.rule,
            "path": each.path,
            "offset": each.offset,
            "message": each.message,
            "isTolerated": each.is_tolerated,
        }
        for each in findings
    ]
    return {"valid": is_valid, "autoProduceSends": is_sent, "findings": rows}


def _lines(name: str, findings: Sequence[PayloadFinding], *, is_valid: bool, is_sent: bool | None) -> Iterator[str]:
    yield from text.wrapped(f"{name} is {'valid' if is_valid else 'invalid'}")
    for each in findings:
        yield ""
        yield f"{each.rule} at {printable(each.path)}, byte {each.offset}"
        yield from text.wrapped(each.message, "  ")
        if each.is_tolerated:
            yield "  Consumers read on."
    if is_sent is not None and is_sent != is_valid:
        yield ""
        yield from text.wrapped(_SENT if is_sent else _NOT_SENT)
    yield from text.explained(each.rule for each in findings)


_SENT = "A Java producer with AUTO_PRODUCE still sends it: its check is less strict."
_NOT_SENT = "A Java producer with AUTO_PRODUCE still refuses it: it reads the bytes in another way."
