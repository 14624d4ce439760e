"""`topicschema backup`: write the operator's record to a file."""

import sys
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from topicschema.cli import record, record_cluster
from topicschema.cli.exits import COMPATIBLE, NO_ANSWER
from topicschema.cli.inputs.cluster import ClusterError
from topicschema.core.errors import StalledError


def run(options: Namespace) -> int:
    """Read the record and write it. Return 3, with the reason on standard error, if it cannot be read or is damaged."""
    try:
        with record_cluster.connect(options.namespace) as cluster:
            objects = [each for kind in record.KINDS for each in cluster.listed(kind)]
        text = "".join(record.lines(objects))
    except (StalledError, ClusterError) as error:
        print(f"topicschema backup: {error}", file=sys.stderr)
        return NO_ANSWER
    if options.output is None:
        sys.stdout.write(text)
    else:
        path = Path(datetime.now(UTC).strftime(options.output))
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
        print(f"wrote {len(objects)} objects to {path}")
    return COMPATIBLE
