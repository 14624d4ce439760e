"""python3 produce_truncated.py TOPIC SCHEMA-FILE: a producer with a bug. It leaves out the last byte of its message."""

import json
import os
import sys
from pathlib import Path

import pulsar
from pulsar.schema import AvroSchema

topic, file = sys.argv[1:]
schema = AvroSchema(None, schema_definition=json.loads(Path(file).read_text(encoding="utf-8")))
encode = schema.encode
schema.encode = lambda message: encode(message)[:-1]  # the bug
client = pulsar.Client(os.environ["PULSAR_SERVICE_URL"], logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull))
client.create_producer(f"persistent://shop/sales/{topic}", schema=schema).send({"id": "a-2", "cents": 1, "note": "."})
client.close()
print(f"sent to {topic}")
