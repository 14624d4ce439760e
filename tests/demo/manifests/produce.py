"""python3 produce.py TOPIC SCHEMA-FILE: an ordinary producer, with the schema that its application was built with."""

import json
import os
import sys
from pathlib import Path

import pulsar
from pulsar.schema import AvroSchema

topic, file = sys.argv[1:]
schema = AvroSchema(None, schema_definition=json.loads(Path(file).read_text(encoding="utf-8")))
client = pulsar.Client(os.environ["PULSAR_SERVICE_URL"], logger=pulsar.FileLogger(pulsar.LoggerLevel.Error, os.devnull))
try:
    producer = client.create_producer(f"persistent://shop/sales/{topic}", schema=schema)
    producer.send({"id": "a-1", "cents": 4200, "note": "", "coupon": ""})
    print(f"sent to {topic}")
except pulsar.PulsarException as error:
    sys.exit(f"the broker refuses the producer: {error}")
finally:
    client.close()
