"""`topicschema restore`: write a backup of the operator's record to the cluster."""

import sys
from argparse import Namespace
from collections.abc import Iterator

from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY, SCHEMA_VERSION, Kind
from topicschema.cli import record, record_cluster
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE, NO_ANSWER
from topicschema.cli.inputs import files
from topicschema.cli.inputs.cluster import ClusterError
from topicschema.cli.record import Object

_ORDER = (SCHEMA_VERSION, PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY)
"""Payloads before the histories that name them, so that an interrupted restore leaves no damaged history."""


def run(options: Namespace) -> int:
    """Restore the objects that the cluster lacks. Return 1, without a write, if a history of the cluster is newer."""
    objects = record.objects_of(files.read(options.file))
    user = options.user or f"system:serviceaccount:{options.namespace}:topicschema-controller"
    try:
        with record_cluster.connect(options.namespace, user) as cluster:
            there = {(kind.name, each["metadata"]["name"]): each for kind in _ORDER for each in cluster.listed(kind)}
            conflicts = list(_conflicts(objects, there))
            if conflicts:
                print("topicschema restore: nothing was written.", *conflicts, sep="\n", file=sys.stderr)
                return INCOMPATIBLE
            written = 0
            for kind in _ORDER:
                written += sum(_restore(cluster, kind, each, there) for each in record.of_kind(objects, kind))
    except ClusterError as error:
        print(f"topicschema restore: {error}; run it again to continue", file=sys.stderr)
        return NO_ANSWER
    print(f"restored {written} of {len(objects)} objects; the others were there")
    return COMPATIBLE


def _conflicts(objects: list[Object], there: dict[tuple[str, str], Object]) -> Iterator[str]:
    """Yield a line for each object of the cluster that the backup would overwrite with an older or another one."""
    for each in objects:
        known = there.get((each["kind"], each["metadata"]["name"]))
        if known is None or known["spec"] == each["spec"]:
            continue
        name = f"{each['kind']} {each['metadata']['name']}"
        if each["kind"] == SCHEMA_HISTORY.name and not record.is_older(known, each):
            yield f"{name} in the cluster is newer than the backup, or differs: use a newer backup, or delete it first"
        if each["kind"] == SCHEMA_VERSION.name and known["spec"]["contentHash"] != each["spec"]["contentHash"]:
            yield f"{name} in the cluster has another payload: delete it first"


def _restore(
    cluster: record_cluster.RecordCluster, kind: Kind, saved: Object, there: dict[tuple[str, str], Object]
) -> bool:
    """Write the object if the cluster lacks it, or has an older history. Return True if it was written."""
    known = there.get((kind.name, saved["metadata"]["name"]))
    if known is None:
        cluster.create(kind, saved)
        return True
    if kind is SCHEMA_HISTORY and known["spec"] != saved["spec"]:
        cluster.replace(kind, known, saved["spec"])
        return True
    return False
