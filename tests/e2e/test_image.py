"""The compiled loops of the validation image, as a pod loads them."""

from support.kubernetes.pods import Pods, spec

_PROGRAM = """
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
data = np.frombuffer(protocol.frame(BaseCommand(type=BaseCommand.PONG)), np.uint8)
batch_splitter.split(data, frames.scan(data)[0])
cached = [each.stats for each in gc.get_objects() if isinstance(each, Dispatcher) and each.stats.cache_path]
print("LOADED", sum(bool(each.cache_hits) for each in cached))
print("COMPILED", sum(bool(each.cache_misses) for each in cached))
"""


def test_a_pod_that_can_write_only_to_tmp_loads_the_loops_that_the_image_compiled(
    pods: Pods, validation_image: str
) -> None:
    made = spec(validation_image, ["python", "-c", _PROGRAM], volumeMounts=[{"name": "tmp", "mountPath": "/tmp"}])  # noqa: S108

    ended = pods.run("loops", {**made, "volumes": [{"name": "tmp", "emptyDir": {}}]})

    assert ended.exit_code == 0, ended.log
    assert ended.log.splitlines()[-2:] == ["LOADED 3", "COMPILED 0"]
