"""`topicschema storage copy`: copy the operator's record from one store to another."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from topicschema.cli import record_cluster
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE, NO_ANSWER
from topicschema.cli.inputs.cluster import ClusterError
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.record import RecordStore
from topicschema.cli.record_copy import RecordCopy, RefusedCopyError
from topicschema.core.errors import TopicSchemaError


def run(options: Namespace) -> int:
    """Copy and verify. Return 1, without a write, if the target has a newer or another history."""
    if options.source == options.target:
        raise UsageError("FROM and TO are the same store")
    try:
        with _connect(options.source, options) as source, _connect(options.target, options) as target:
            copy = RecordCopy(source, target)
            number = copy.run()
    except RefusedCopyError as error:
        print("topicschema storage copy: nothing was written.", error, sep="\n", file=sys.stderr)
        return INCOMPATIBLE
    except (TopicSchemaError, ClusterError) as error:
        print(f"topicschema storage copy: {error}; run it again to continue", file=sys.stderr)
        return NO_ANSWER
    print(f"copied {copy.written} objects, the others were there; {number} are equal in both stores")
    return COMPATIBLE


@contextmanager
def _connect(name: str, options: Namespace) -> Iterator[RecordStore]:
    if name == "kubernetes":
        is_target = name == options.target
        user = options.user or f"system:serviceaccount:{options.namespace}:topicschema-controller"
        with record_cluster.connect(options.namespace, user if is_target else "") as cluster:
            yield cluster
        return
    try:
        from topicschema.cli import record_database  # noqa: PLC0415 - an install may lack the packages
    except ModuleNotFoundError as error:
        raise UsageError(f"{error}: pip install 'topicschema[postgresql]'") from None
    with record_database.connect() as database:
        yield database
