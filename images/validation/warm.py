"""Compiles the loop that runs verdict programs, while the image is built: a run then loads it instead."""

from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.payload.judges import judge_of
from topicschema.payload.judges.column import Column

SCHEMA = SchemaInfo(SchemaType.AVRO, b'{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}')
verdicts = judge_of(SCHEMA, SCHEMA, next(iter(PulsarLine))).judge(Column.of([b"\x02", b""]))
if [bool(each) for each in verdicts.reasons] != [False, True]:
    raise SystemExit("the compiled loop judges wrongly")
