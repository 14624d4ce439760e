"""Compiles the loops of a run while the image is built: a run then loads them instead.

What a run imports is imported, too, and each loop that is kept must have been compiled: an image that lacks a part is
none.
"""

import base64
import gc
import json

import numpy as np
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

import topicschema.validation.run.driver
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.column import Column
from topicschema.validation.sources.pulsar import frames
from topicschema.validation.sources.pulsar import protocol
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand
from topicschema.validation.sources.pulsar import batch_splitter, details

NEEDED = (pyarrow.dataset, pyarrow.fs, pyarrow.parquet, topicschema.validation)
AVRO = b'{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'


def protobuf() -> bytes:
    file = FileDescriptorProto(name="order.proto", syntax="proto3")
    file.message_type.add(name="Order").field.add(name="id", number=1, type=3, label=1)
    told = {"rootMessageTypeName": "Order", "rootFileDescriptorName": "order.proto"}
    files = base64.b64encode(FileDescriptorSet(file=[file]).SerializeToString()).decode()
    return json.dumps({"fileDescriptorSet": files, **told}).encode()


for kind, schema, payload in ((SchemaType.AVRO, AVRO, b"\x02"), (SchemaType.PROTOBUF_NATIVE, protobuf(), b"\x08\x02")):
    info = SchemaInfo(kind, schema)
    verdicts = validator_for(info, info, next(iter(PulsarVersion))).validate(
        Column.of([payload, payload[:-1] + b"\xff"])
    )
    if [bool(each) for each in verdicts.reasons] != [False, True]:
        raise SystemExit(f"the compiled loop judges {kind.value} wrongly")
came = np.frombuffer(protocol.frame(BaseCommand(type=BaseCommand.PONG)), np.uint8)
table = frames.scan(came)[0]
details.columns(came, table, batch_splitter.split(came, table))
kept = [each for each in gc.get_objects() if isinstance(each, Dispatcher) and not isinstance(each._cache, NullCache)]
for each in kept:
    if not each.signatures:
        raise SystemExit(f"{each.py_func.__module__} has a loop that a run would have to compile")
print(len(kept), "loops compiled")
