"""python3 consume.py TOPIC SCHEMA-FILE: an ordinary consumer, which shows the first message as its schema reads it."""

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
    earliest = pulsar.InitialPosition.Earliest
    consumer = client.subscribe(f"persistent://shop/sales/{topic}", "demo", schema=schema, initial_position=earliest)
    message = consumer.receive(20_000)
    version = int.from_bytes(message.schema_version().encode("latin-1"), "big")
    print(f"received from {topic}, written with version {version}: {message.value()}")
except pulsar.PulsarException as error:
    sys.exit(f"the broker refuses the consumer: {error}")
finally:
    client.close()
