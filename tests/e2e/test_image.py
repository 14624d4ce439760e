"""What the validation image has made ready, as a pod finds it."""

from support.kubernetes.pods import Pods, spec

_JUDGED = """
import gc
import numpy as np
from numba.core.dispatcher import Dispatcher
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.column import Column
from topicschema.validation.sources.pulsar import batch_splitter, frames, protocol
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand

schema = SchemaInfo(SchemaType.AVRO, b'"long"')
validator_for(schema, schema, PulsarVersion.V4_0).validate(Column.of([b"\\x02"]))
came = np.frombuffer(protocol.frame(BaseCommand(type=BaseCommand.PONG)), np.uint8)
batch_splitter.split(came, frames.scan(came)[0])
kept = [each.stats for each in gc.get_objects() if isinstance(each, Dispatcher) and each.stats.cache_path]
print("LOADED", sum(bool(each.cache_hits) for each in kept))
print("COMPILED", sum(bool(each.cache_misses) for each in kept))
"""


def test_a_pod_that_can_write_to_nothing_but_tmp_loads_the_loops_that_the_image_compiled(
    pods: Pods, validation_image: str
) -> None:
    made = spec(validation_image, ["python", "-c", _JUDGED], volumeMounts=[{"name": "tmp", "mountPath": "/tmp"}])  # noqa: S108

    ended = pods.run("loops", {**made, "volumes": [{"name": "tmp", "emptyDir": {}}]})

    assert ended.exit_code == 0, ended.log
    assert ended.log.splitlines()[-2:] == ["LOADED 3", "COMPILED 0"]
