"""Conversations with Pulsar's REST API of schemas: for each the strategy of its namespace, and its requests.

Each conversation has a topic of its own. Bodies are texts, because many are no JSON.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from topicschema.core.schemas import PRIMITIVES
from topicschema.core.strategies import Strategy

PATH_OF_TOPIC = "{topic}"


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `path` follows `/admin/v2`, with `{namespace}` and `{topic}` for their names."""

    method: str
    path: str
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    strategy: Strategy
    requests: tuple[Request, ...]


def call(method: str, name: str, body: Any = None, topic: str = PATH_OF_TOPIC, **headers: str) -> Request:
    """Return a call about the topic. A body other than a text is JSON."""
    sent = body if isinstance(body, str) or body is None else json.dumps(body)
    named = {each.replace("_", "-"): text for each, text in headers.items()}
    return Request(method, f"/schemas/{{namespace}}/{topic}/{name}", sent, named)


def get(name: str = "schema") -> Request:
    return call("GET", name)


def sent(schema: str, kind: str = "AVRO", properties: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"type": kind, "schema": schema, "properties": properties or {}}


def post(schema: str, kind: str = "AVRO", properties: Mapping[str, Any] | None = None) -> Request:
    return call("POST", "schema", sent(schema, kind, properties))


def compatibility(schema: str, kind: str = "AVRO", properties: Mapping[str, Any] | None = None) -> Request:
    return call("POST", "compatibility", sent(schema, kind, properties))


def number(schema: str, kind: str = "AVRO", properties: Mapping[str, Any] | None = None) -> Request:
    return call("POST", "version", sent(schema, kind, properties))


READS = (get(), get("schema/0"), get("schema/1"), get("schemas"))
DELETE = call("DELETE", "schema")


def record(*fields: Any, name: str = "R", **members: Any) -> str:
    """Return an Avro record. A field is a name, which is a string, or its whole JSON."""
    whole = [each if isinstance(each, dict) else {"name": each, "type": "string"} for each in fields]
    return json.dumps({"type": "record", "name": name, **members, "fields": whole})


def optional(name: str, kind: Any = "string", default: Any = "") -> dict[str, Any]:
    return {"name": name, "type": kind, "default": default}


def envelope(message: str = "M", *fields: str) -> str:
    """Return a PROTOBUF_NATIVE schema with optional int32 fields."""
    file = FileDescriptorProto(name="p.proto", package="p", syntax="proto3")
    descriptor = file.message_type.add(name=message)
    for position, each in enumerate(fields, 1):
        descriptor.field.add(name=each, number=position, type="TYPE_INT32", label="LABEL_OPTIONAL")
    files = base64.b64encode(FileDescriptorSet(file=[file]).SerializeToString()).decode()
    members = {"fileDescriptorSet": files, "rootMessageTypeName": f"p.{message}", "rootFileDescriptorName": "p.proto"}
    return json.dumps(members)


def pair(key: str, value: str, encoding: str = "INLINE") -> dict[str, str]:
    """Return the properties of a pair with parts of these types, as PulsarAdmin sends them."""
    return {
        "key.schema.name": "k", "key.schema.type": key, "key.schema.properties": "{}",
        "value.schema.name": "v", "value.schema.type": value, "value.schema.properties": "{}",
        "kv.encoding.type": encoding,
    }  # fmt: skip


V0 = record("a")
V1 = record("a", optional("b"))
V2 = record("a", optional("b"), optional("c", "int", 1))
EDITS = {
    "optional added": V1,
    "required added": record("a", "b"),
    "removed": record(optional("z")),
    "type changed": record({"name": "a", "type": "int"}),
    "renamed record": record("a", name="S"),
    "to union": record({"name": "a", "type": ["null", "string"]}),
    "bytes": record({"name": "a", "type": "bytes"}),
}


def conversations() -> Iterator[Conversation]:
    """Yield all, with their names."""
    for name, strategy, requests in _all():
        yield Conversation(name, strategy, tuple(requests))


def _all() -> Iterator[tuple[str, Strategy, list[Request]]]:
    yield from _lives()
    yield from _strategies()
    yield from _types()
    yield from _bodies()
    yield from _names()
    yield from _pairs()
    yield from _paths()
    yield from _headers()
    yield from _changes()
    yield from _random(Random(7))  # noqa: S311 - the same conversations in each run


def _lives() -> Iterator[tuple[str, Strategy, list[Request]]]:
    full = Strategy.FULL
    nothing = [*READS, get("schema/-1"), number(V0), compatibility(V0)]
    yield "nothing", full, [*nothing, DELETE, *READS, post(V0), *READS, DELETE, DELETE, get("schemas"), post(V0)]
    versions = ["2", "-1", "00", "+0", "-0", "+1", "abc", "1.0", "0x1", "1e0", "", " 1", "99999999999999999999",
                "9223372036854775807", "9223372036854775808", "-9223372036854775808", "2147483648"]  # fmt: skip
    numbers = [get(f"schema/{each.replace(' ', '%20')}") for each in versions]
    yield "versions", full, [post(V0), post(V1), *numbers]
    respelled = json.dumps(json.loads(V0), indent=1)
    documented = record("a", doc="what it is")
    aliased = record({"name": "a", "type": "string", "aliases": ["x"]})
    same = [post(V0), post(respelled), post(documented), post(aliased), post(V0, properties={"p": "q"})]
    yield "equal", full, [*same, *READS, number(V0), number(respelled), number(V0, properties={"p": "q"})]
    yield (
        "back",
        full,
        [
            post(V0),
            post(V1),
            post(V2),
            post(V0),
            get(),
            number(V0),
            compatibility(V0),
            compatibility(V2),
            get("schemas"),
        ],
    )
    deleted = [post(V0), post(V1), DELETE, *READS, get("schema/2"), number(V0), compatibility(record("z")), DELETE]
    yield (
        "deleted",
        full,
        [*deleted, post(V0), get(), get("schema/4"), get("schemas"), post(V1), DELETE, post("", "INT32")],
    )
    yield "forced", full, [
        post(V0), post(V1), call("DELETE", "schema?force=true"), *READS, call("DELETE", "schema?force=TRUE"), post(V0),
        call("DELETE", "schema?force=yes"), get(), post(V1), call("DELETE", "schema?force=false"), get("schemas"),
    ]  # fmt: skip
    properties = {"owner": "a", "empty": "", "ünï": "ö", "n": 1, "f": 1.5, "b": True}
    yield "properties", full, [post(V0, properties=properties), *READS, post(V1, properties={"other": "x"}), get()]
    texts = {"doc": 'ö \U0001f600 \\ " \n \t'}
    yield "texts", full, [post(f"  {record('a', **texts)}\n"), *READS, post(record({"name": "é", "type": "int"}))]


def _strategies() -> Iterator[tuple[str, Strategy, list[Request]]]:
    for strategy in Strategy:
        if strategy is Strategy.UNDEFINED:
            continue
        for position, (name, edit) in enumerate(EDITS.items()):
            upload = [post(V0), compatibility(V0), compatibility(edit), post(edit), get(), number(edit)]
            more = (
                [post(V2), compatibility(V0), post("", "STRING"), compatibility("", "STRING")] if position == 0 else []
            )
            yield f"{strategy}: {name}", strategy, upload + more
        third = [
            post(V0),
            post(V1),
            post(V2),
            compatibility(record("a", "c")),
            post(record("a", "c")),
            get("schemas"),
            post(V0),
        ]
        yield f"{strategy}: third", strategy, third


def _types() -> Iterator[tuple[str, Strategy, list[Request]]]:
    full = Strategy.FULL
    for kind in sorted(PRIMITIVES):
        own = [post("", kind), *READS, post("", kind), number("", kind), compatibility("", kind), post("x", kind)]
        yield (
            f"type {kind}",
            full,
            [*own, post("null", kind), post(V0), compatibility(V0), number(V0), DELETE, post(V0), get()],
        )
    for kind in ("JSON", "PROTOBUF"):
        own = [
            post(V0, kind),
            *READS,
            post(V0, kind),
            post(V1, kind),
            number(V0, kind),
            compatibility(record("q"), kind),
        ]
        yield f"type {kind}", full, [*own, post(record("q"), kind), post("{", kind), post(V0), get("schemas")]
    native = [post(envelope("M", "a"), "PROTOBUF_NATIVE"), *READS, post(envelope("M", "a"), "PROTOBUF_NATIVE")]
    edits = [
        (envelope("M", "a", "b"), post),
        (envelope("N", "a"), post),
        (envelope("N"), compatibility),
        (envelope("M"), number),
    ]
    native += [how(text, "PROTOBUF_NATIVE") for text, how in edits]
    wrong = ["", "{}", "x", json.dumps({**json.loads(envelope("M")), "rootMessageTypeName": "p.Q"})]
    yield "type PROTOBUF_NATIVE", full, [*native, *(post(each, "PROTOBUF_NATIVE") for each in wrong), post(V0)]
    for encoding in ("INLINE", "SEPARATED"):
        ofs, other = pair("STRING", "AVRO", encoding), pair("INT32", "AVRO", encoding)
        text, more = f'{{"key": "", "value": {V0}}}', f'{{"key": "", "value": {V1}}}'
        broken = f'{{"key": "", "value": {record("q")}}}'
        kv = [post(text, "KEY_VALUE", ofs), *READS, post(text, "KEY_VALUE", ofs), number(text, "KEY_VALUE", ofs)]
        kv += [
            post(more, "KEY_VALUE", ofs),
            compatibility(broken, "KEY_VALUE", ofs),
            post(broken, "KEY_VALUE", ofs),
            get(),
        ]
        yield (
            f"pair {encoding}",
            full,
            [*kv, compatibility(text, "KEY_VALUE", other), post(V0), number(V0), DELETE, get()],
        )
    both = f'{{"key": {V0}, "value": {record(optional("n", "double", 1.5))}}}'
    kinds = pair("AVRO", "JSON")
    yield "pair of records", full, [post(both, "KEY_VALUE", kinds), *READS, number(both, "KEY_VALUE", kinds)]
    nothing, ints = '{"key":"","value":""}', pair("INT8", "DOUBLE")
    yield "pair of primitives", full, [post(nothing, "KEY_VALUE", ints), *READS, post(nothing, "KEY_VALUE", ints)]
    for position, text in enumerate(("", "{}", "[]", "x", '{"key":""}', '"k"', '{"key":"","value":')):
        wrong_pair = [
            post(text, "KEY_VALUE", ints),
            number(text, "KEY_VALUE", ints),
            compatibility(text, "KEY_VALUE", ints),
        ]
        yield f"wrong pair {position}", full, wrong_pair
    odd = {"unknown part": {**ints, "key.schema.type": "NOPE"}, "text in a part": pair("STRING", "STRING")}
    for name, properties in odd.items():
        yield name, full, [post('{"key":"x","value":""}', "KEY_VALUE", properties)]
    for kind in ("AUTO", "AUTO_CONSUME", "AUTO_PUBLISH", "NOPE", "avro", "", "EXTERNAL", "AUTO_PRODUCE"):
        yield f"type {kind or 'empty'}", full, [post("", kind), number("", kind), compatibility("", kind), get()]


def _bodies() -> Iterator[tuple[str, Strategy, list[Request]]]:
    full = Strategy.FULL
    texts = [
        "", " ", "null", "{}", "[]", "1", '"x"', "true", "{", '{"type":"AVRO"', "x", "'a'", '{"type":"STRING"}',
        '{"schema":""}', '{"type":null,"schema":""}', '{"type":"STRING","schema":null}', '{"type":1,"schema":""}',
        '{"type":"STRING","schema":1}', '{"type":"STRING","schema":{}}', '{"type":"STRING","schema":[]}',
        '{"type":{},"schema":""}', '{"type":"STRING","schema":"","properties":[]}',
        '{"type":"STRING","schema":"","properties":""}', '{"type":"STRING","schema":"","properties":{"a":null}}',
        '{"type":"STRING","schema":"","properties":{"a":{}}}', '{"type":"STRING","schema":"","properties":{"a":[]}}',
        '{"type":"INT32","schema":true}', '{"type":"STRING" "schema":""}', '{"type":"STRING","schema":"\n"}',
        '{"type":"STRING","schema":NaN}', '// c\n{"type":"STRING","schema":""}',
    ]  # fmt: skip
    for position, text in enumerate(texts):
        yield f"body {position}", full, [call("POST", each, text) for each in ("schema", "compatibility", "version")]
    accepted = [
        '{"type":"STRING","schema":"","properties":null}', '{"type":"STRING","schema":"","more":{"a":[1]}}',
        '{"type":"STRING","schema":"","version":3,"timestamp":1,"data":"x"}', '{"type":"STRING","schema":""} x',
        '{"type":"INT8","type":"STRING","schema":""}', '\n{"type" : "STRING", "schema" : ""}\n',
        '{"type":"STRING","schema":"","properties":{"a":1,"b":1.50,"c":false,"d":1e3}}',
    ]  # fmt: skip
    for position, text in enumerate(accepted):
        yield f"body accepted {position}", full, [call("POST", "schema", text), get()]
    schemas = [
        "", "{}", "x", "null", "1", "[]", '"string"', '["null","string"]', '{"type":"array","items":"int"}',
        '{"type":"record","name":"R"}', '{"type":"record","name":"1R","fields":[]}', record("a", "a"), V0 + "x",
        '{"type":"record","name":"R","fields":[{"name":"a","type":"Nope"}]}', "\ufeff" + V0, "// c\n" + V0,
        '{"type":"enum","name":"E","symbols":["A","A"]}', '{"type":"fixed","name":"F","size":-1}',
        '{"type":"object","properties":{}}',
    ]  # fmt: skip
    for kind in ("AVRO", "JSON", "PROTOBUF"):
        for position, text in enumerate(schemas):
            yield f"text {position} of {kind}", full, [post(text, kind), compatibility(text, kind), get("schemas")]
    bad = record(optional("a", "string", None))
    yield (
        "invalid default second",
        full,
        [post(V0), post(record("a", optional("b", "int", "x"))), compatibility(bad), get("schemas")],
    )
    kinds = ["text/plain", "application/xml", "application/json; charset=utf-8"]
    typed = [call("POST", "schema", sent(V0), Content_Type=each) for each in kinds]
    accepts = ["text/plain", "text/html", "*/*", "application/*", "application/json, */*"]
    yield "media types", full, [*typed, *(call("GET", "schema", Accept=each) for each in accepts)]


def _names() -> Iterator[tuple[str, Strategy, list[Request]]]:
    full = Strategy.FULL
    for position, part in enumerate(("-partition-0", "-partition-77")):
        name = PATH_OF_TOPIC + part
        of_partition = [call("POST", "schema", sent(V0), name), get(), call("GET", "schema", None, name)]
        yield f"partition {position}", full, [*of_partition, call("DELETE", "schema", None, name), get()]
    for position, part in enumerate(
        ("-partition-x", "-partition-", ".a", "%252B", "%25C3%25B6", ":a", "=a", "-a", "_a")
    ):
        name = PATH_OF_TOPIC + part
        reads = [call("GET", "schema", None, name), get(), call("GET", "schemas", None, name)]
        yield f"name {position}", full, [call("POST", "schema", sent(V0), name), *reads]
    for position, part in enumerate(("%25", "%2525", "%2B", "%20", "%2520", "+", "%zz", "%25zz")):
        yield f"odd name {position}", full, [call("GET", "schema", None, PATH_OF_TOPIC + part)]
    missing = [
        Request("GET", "/schemas/{namespace}-none/{topic}/schema"),
        Request("GET", "/schemas/none/none/{topic}/schemas"),
        Request("GET", "/schemas/none/none/{topic}/schema/0"), Request("GET", "/schemas/none/none/{topic}/schema/x"),
        Request("POST", "/schemas/{namespace}-none/{topic}/schema", json.dumps(sent(V0))),
        Request("POST", "/schemas/none/none/{topic}/schema", json.dumps(sent(V0))),
        Request("POST", "/schemas/none/none/{topic}/compatibility", json.dumps(sent(V0))),
        Request("POST", "/schemas/none/none/{topic}/version", json.dumps(sent(V0))),
        Request("GET", "/schemas/no%20ne/none/{topic}/schema"), Request("GET", "/schemas/none/n$/{topic}/schema"),
        Request("POST", "/schemas/none/n$/{topic}/schema", json.dumps(sent(V0))),
        Request("GET", "/namespaces/none/none/schemaCompatibilityStrategy"),
        Request("GET", "/namespaces/none/none/isAllowAutoUpdateSchema"),
        Request("GET", "/namespaces/none/none/schemaValidationEnforced"),
    ]  # fmt: skip
    yield "missing namespaces", full, missing
    methods = [
        call(method, name) for method in ("PUT", "PATCH") for name in ("schema", "schemas", "schema/0", "version")
    ]
    methods += [
        call("POST", "schemas", "{}"),
        call("DELETE", "schemas"),
        call("GET", "compatibility"),
        call("GET", "nope"),
    ]
    methods += [
        call("GET", "version"),
        call("DELETE", "schema/0"),
        call("GET", "schema/0/1"),
        call("POST", "schema/0", "{}"),
    ]
    yield "methods", full, methods
    yield "written settings", Strategy.UNDEFINED, list(_settings())
    for strategy in (full, Strategy.BACKWARD):
        settings = ("schemaCompatibilityStrategy", "isAllowAutoUpdateSchema", "schemaValidationEnforced")
        yield (
            f"settings {strategy}",
            strategy,
            [Request("GET", f"/namespaces/{{namespace}}/{each}") for each in settings],
        )


def _settings() -> Iterator[Request]:
    """Yield the requests of the one conversation that changes the settings of its namespace."""
    strategy, *flags = (
        f"/namespaces/{{namespace}}/{each}"
        for each in ("schemaCompatibilityStrategy", "isAllowAutoUpdateSchema", "schemaValidationEnforced")
    )
    yield Request("GET", strategy)
    yield post(V0)
    texts = ['"BACKWARD"', '"ALWAYS_COMPATIBLE"', '"NOPE"', '"FULL"', "5", "77", '"backward"', '"FORWARD"', "null"]
    texts += ['"3"', '" FULL "', "3.0", "1e0", "-1", "", '\ufeff"FULL"', '"FULL" x']
    for text in (*texts, "x", "{}", "[]", "true", '"UNDEFINED"', '""'):
        yield Request("PUT", strategy, text)
        yield Request("GET", strategy)
    yield Request("PUT", strategy, '"ALWAYS_COMPATIBLE"')
    yield compatibility(record("z"))
    yield post(record("z"))
    yield Request("POST", strategy, '"FULL"')
    for flag in flags:
        yield Request("GET", flag)
        texts = ["false", "true", "null", "true", '"x"', "{}", "x", '"TRUE"', '" "', '" true "', '"null"', "-1", "0.0"]
        for text in (*texts, "99999999999999999999", "-0", '"1"', "", "[true]"):
            yield Request("POST", flag, text)
            yield Request("GET", flag)


def _pair(
    key: Any, value: Any, types: tuple[str, str], how: Callable[..., Request] = post, **properties: str
) -> Request:
    """Return a request with a pair. A part that is a text is the JSON text of its schema."""
    parts = ('""' if part == "" else part if isinstance(part, str) else json.dumps(part) for part in (key, value))
    return how('{{"key":{},"value":{}}}'.format(*parts), "KEY_VALUE", {**pair(*types), **properties})


def _pairs() -> Iterator[tuple[str, Strategy, list[Request]]]:
    full, both, bad, of_record = Strategy.FULL, ("AVRO", "AVRO"), record("q"), ("STRING", "AVRO")
    edits = [_pair(key, value, both) for key, value in ((V0, V0), (V1, V0), (bad, V0), (V0, bad))]
    yield "pair edited", full, [*edits, _pair(bad, bad, both, compatibility), *READS]
    others = [_pair(V0, V0, ("JSON", "JSON")), _pair(V1, V0, ("JSON", "AVRO")), _pair("", V0, of_record)]
    yield "pair of other types", full, [_pair(V0, V0, both), *others, _pair(V1, V0, ("JSON", "AVRO"), compatibility)]
    nulls = [
        _pair("null", "null", ("STRING", "STRING")),
        _pair("null", "", ("STRING", "INT32")),
        _pair("null", V0, both),
    ]
    yield "pair of nulls", full, [*nulls, get("schemas")]
    odd = ['"x"', "1", "[]", "{}", "true", '["null","string"]', '{"type":"map","values":"long"}', '"string"']
    for kind in ("STRING", "AVRO", "JSON", "PROTOBUF"):
        odds = [_pair(each, "", (kind, "STRING")) for each in odd]
        yield f"pair of odd parts {kind}", full, [*odds, get("schemas")]
    for kind in ("AUTO_CONSUME", "string", "NOPE", "", "KEY_VALUE", "PROTOBUF"):
        calls = [_pair("", "", (kind, "STRING"), how) for how in (post, compatibility, number)]
        yield f"pair with {kind or 'no type'}", full, [*calls, get()]
    native, natives = envelope("M", "a"), ("PROTOBUF_NATIVE", "PROTOBUF_NATIVE")
    edits = [_pair(key, native, natives) for key in (native, envelope("M", "a", "b"), envelope("N", "a"), "", "{}")]
    yield "pair of PROTOBUF_NATIVE", full, [*edits, get("schemas")]
    texts = ["", "{}", '{"key":""}', "[]", "1", "{", '{"key":"","value":""} x', '{"key":"","key":"","value":""}',
             '// c\n{"key":"","value":""}', '{"key":"","value":"",}', '{"value":"","more":[1.0],"key":""}']  # fmt: skip
    calls = [how(text, "KEY_VALUE", pair("INT8", "INT8")) for text in texts for how in (number, compatibility, post)]
    yield "pair texts", full, [*calls, get("schemas")]
    properties = ["", "[]", "x", "{", '{"a":null}', '{"a":{}}']
    calls = [_pair("", V0, of_record, **{"value.schema.properties": each}) for each in properties[1:]]
    yield "pair with properties of parts", full, calls
    numbers = ["1.00", "1e5", "1E+2", "1e400", "-0", "-0.0", "0.1e-400", "1e-7", "1e7",
               "12345678901234567890.5", "123456789.123"]  # fmt: skip
    values = ['"<a>&\'="', '"\\u00e9\\u2028\\/"', '"\\ud83d\\ude00"', '"\U0001f600\u00e9"', "[1,2.0,null]",
              '"\\u0000\\u001f\\u007f"', '"\\ud800"', "9223372036854775807", '{"b":1,"a":{"z":null}}']  # fmt: skip
    for value in (*numbers, *values):
        text = f'{{"type":"record","name":"R","x":{value},"fields":[]}}'
        yield f"pair with {value}", full, [_pair("", text, of_record), *READS, _pair("", text, of_record, number)]
    for strategy in Strategy:
        if strategy is not Strategy.UNDEFINED:
            versions = [_pair("", each, of_record) for each in (V0, V1, V2, bad, record())]
            calls = [_pair("", V0, each, compatibility) for each in (of_record, ("INT8", "AVRO"))]
            yield f"pair {strategy}", strategy, [*versions, *calls, get("schemas")]


def _paths() -> Iterator[tuple[str, Strategy, list[Request]]]:
    full, topic, body = Strategy.FULL, "/schemas/{namespace}/{topic}", json.dumps(sent(V0))
    paths = [
        f"{topic}//schema", "//schemas/{namespace}/{topic}/schema", "/schemas//{namespace}/{topic}/schema",
        "/schemas/{namespace}//{topic}/schema", f"{topic}/schema//", f"{topic}/schema/", f"{topic}/schema;x=y",
        "/schemas;a=b/{namespace}/{topic}/schema", f"{topic};a=b/schema", f"{topic}/sch%65ma", f"{topic}/schema/%30",
        f"{topic}/schema%2F0", "/sch%65mas/{namespace}/{topic}/schema", f"{topic}/schema%20", f"{topic}/Schema",
        f"{topic}/schema/0;x=1", f"{topic}/schema/0%0a", f"{topic}/schema/0/", f"{topic}/schema/%2B0", topic,
        f"{topic}/schema%00", f"{topic}/schema?authoritative=%zz", f"{topic}/schema/0?authoritative=true&a&;=",
    ]  # fmt: skip
    yield "paths", full, [post(V0), *(Request("GET", path) for path in paths)]
    for part in ("00", "01-partition-1", "0-partition-1", "-1", "2147483647", "2147483648", "1-partition-x"):
        name = f"{PATH_OF_TOPIC}-partition-{part}"
        others = (f"{PATH_OF_TOPIC}{each}" for each in ("-partition-1", "-partition-0-partition-0"))
        yield f"partition {part}", full, [post(V0), *(call("GET", "schema", topic=each) for each in (name, *others))]
    names = ["%2F", "%252F", "a%2Fb", "%2Fa", "a%252F%252Fb", "%20", "%2520", "+", "%2B", "%C3%B6",
             "%25F0%259F%2598%2580", ".", "%252E", "$", "~", "%2524", ";a", "%253Ba", "(", "%257E", "%2525zz",
             "%25C3"]  # fmt: skip
    for name in names:
        calls = [("POST", "schema", sent(V0)), ("GET", "schema", None), ("GET", "schemas", None)]
        is_stored = "2F" not in name
        whole = f"{PATH_OF_TOPIC}{name}" if is_stored and name.strip("%20B+5") else name
        requests = [call(method, each, content, whole) for method, each, content in calls[not is_stored :]]
        yield f"name {name}", full, [*requests, call("POST", "version", sent(V0), whole)]
    for namespace in ("{namespace}.x", "a%2Fb/n", "a%20b/n", "a/b%2Bc", "a+b/n", "a/%24", ".../n", "a;b/n", "a%25/n"):
        reads = [Request("GET", f"/schemas/{namespace}/{{topic}}/{each}") for each in ("schema", "schemas", "metadata")]
        settings = [Request("GET", f"/namespaces/{namespace}/schemaValidationEnforced")]
        settings += [Request("POST", f"/namespaces/{namespace}/schemaValidationEnforced", "true")]
        writes = [Request("POST", f"/schemas/{namespace}/{{topic}}/{each}", body) for each in ("version", "schema")]
        yield f"in {namespace}", full, [*reads, *settings, *writes]
    bodies = ["", "null", "{}", "{", '{"type":"NOPE","schema":""}', '{"type":"KEY_VALUE","schema":"x"}']
    paths = [f"/schemas/{{namespace}}-none/{{topic}}/{each}" for each in ("schema", "compatibility", "version")]
    missing = [Request("POST", path, text) for path in paths for text in bodies]
    settings = [Request("PUT", "/namespaces/{namespace}-none/schemaCompatibilityStrategy", each) for each in ("{", "1")]
    yield "bodies without a namespace", full, [*missing, *settings]


def _headers() -> Iterator[tuple[str, Strategy, list[Request]]]:
    full, of_settings = Strategy.FULL, "/namespaces/{namespace}/isAllowAutoUpdateSchema"
    kinds = ["application/json;charset=ISO-8859-1", "APPLICATION/JSON", "application/*", "*/*", "*", "", "json",
             "image/*", "application/json, text/html;q=0.5", "application/vnd.a+json", "application/json;", "text/json",
             "multipart/form-data", "application/xml;q=0.9, application/json"]  # fmt: skip
    calls = (("POST", "schema", sent(V0)), ("GET", "schema/9", None), ("POST", "version", sent(V0)))
    for name in ("Content_Type", "Accept"):
        yield f"headers {name}", full, [call(*each, **{name: kind}) for kind in kinds for each in calls]
    names = ("schema", "schema/0", "schemas", "version", "compatibility", "metadata", "schema/", "schema//0", "nope")
    for method in ("HEAD", "OPTIONS", "PUT", "TRACE"):
        requests = [call(method, name, "{}" if method == "PUT" else None) for name in names]
        yield (
            f"headers {method}",
            full,
            [post(V0), *requests, Request("HEAD" if method == "PUT" else method, of_settings)],
        )
    forms = ("True", "1", "", "true&force=false", "false&force=true", "%74rue", "true%20")
    forced = [each for form in forms for each in (post(V0), call("DELETE", f"schema?force={form}"), get("metadata"))]
    yield "headers force", full, forced


def _changes() -> Iterator[tuple[str, Strategy, list[Request]]]:
    """Yield changes of schemas and of types under all strategies, and what a deletion leaves of them."""
    metadata, force = get("metadata"), call("DELETE", "schema?force=true")
    forgotten = [
        force,
        post(record("q")),
        get("schemas"),
        metadata,
        force,
        post("", "INT8"),
        DELETE,
        post(V0),
        metadata,
    ]
    yield "change after deletions", Strategy.FULL_TRANSITIVE, [metadata, post(V0), post(V1), metadata, *forgotten]
    kinds = [(V0, "AVRO"), (V0, "JSON"), (V0, "PROTOBUF"), (envelope("M"), "PROTOBUF_NATIVE"), ("", "STRING")]
    yield (
        "change of types",
        Strategy.BACKWARD,
        [each for kind in kinds for each in (post(*kind), DELETE, get("schemas"))],
    )
    for strategy in (Strategy.BACKWARD, Strategy.ALWAYS_COMPATIBLE, Strategy.FULL_TRANSITIVE):
        calls = [how(*kind) for kind in kinds for how in (compatibility, post, number)]
        yield f"change of types {strategy}", strategy, [*calls, *calls[:3], get("schemas")]
    recursive = optional("n", ["null", "R"], None)
    enum, data = '{{"type":"enum","name":"E","symbols":[{}]{}}}', {"type": "bytes", "logicalType": "decimal"}
    edits = {
        "alias": (V0, record({"name": "b", "type": "string", "aliases": ["a"]})),
        "promotion": (record(optional("a", "int", 1)), record(optional("a", "long", 1))),
        "symbol": (enum.format('"A"', ""), enum.format('"A","B"', "")),
        "enum default": (enum.format('"A","B"', ',"default":"A"'), enum.format('"A"', ',"default":"A"')),
        "namespace": (V0, record("a", namespace="x")),
        "default": (record(optional("a", "double", 1)), record(optional("a", "double", 1)).replace("1}", "1.0}")),
        "decimal": (record(optional("a", {**data, "precision": 4})), record(optional("a", {**data, "precision": 9}))),
        "fixed": ('{"type":"fixed","name":"F","size":1}', '{"type":"fixed","name":"F","size":2}'),
        "union order": (record(optional("a", ["null", "int"], None)), record({"name": "a", "type": ["int", "null"]})),
        "attribute": (V0, record("a", owner="\U0001f600 \u0085\u2028\ufeff\uffff\u007f")),
        "error": (V0, V0.replace("record", "error")),
        "field order": (record("a", "b"), record("b", "a")),
        "recursion": (record(recursive), record(recursive, optional("z"))),
        "items": ('{"type":"array","items":"int"}', '{"type":"array","items":"double"}'),
        "text": (' "int" ', '{"type":"int"}'),
        "java string": (V0, V0.replace('"string"', '{"type":"string","avro.java.string":"String"}')),
    }  # fmt: skip
    strategies = [each for each in Strategy if each is not Strategy.UNDEFINED]
    for position, (name, (old, new)) in enumerate(edits.items()):
        kind, strategy = ("AVRO", "JSON")[position // 8], strategies[position % 8]
        calls = [
            post(old, kind),
            compatibility(new, kind),
            post(new, kind),
            number(new, kind),
            compatibility(old, kind),
        ]
        yield f"change of {name}", strategy, [*calls, get("schemas")]


_STRUCTURED = ("AVRO", "JSON", "PROTOBUF")
_KINDS = (*_STRUCTURED, "STRING", "INT64", "BOOLEAN", "DATE", "KEY_VALUE", "PROTOBUF_NATIVE")
_FIELDS = (
    {"name": "a", "type": "string"},
    optional("b"),
    optional("c", "int", 1),
    optional("d", ["null", "string"], None),
    {"name": "e", "type": "long"},
    {"name": "e", "type": "int"},
    {"name": "f", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    {"name": "f", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
    {"name": "g", "type": {"type": "array", "items": "string"}},
    optional("h", {"type": "map", "values": "int"}, {}),
    {"name": "i", "type": {"type": "fixed", "name": "F", "size": 4}},
    {"name": "j", "type": {"type": "record", "name": "N", "fields": [optional("x")]}},
    {"name": "k", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
    optional("l", "double", 1.5),
    optional("m", ["null", "R"], None),
)
_OTHERS = ("", "{}", '"int"', '["null","string"]', '{"type":"map","values":"int"}', '{"type":"record","name":"R"}')

_Sent = tuple[str, str, dict[str, str]]
"""A schema's text, type and properties."""


def _random(random: Random) -> Iterator[tuple[str, Strategy, list[Request]]]:
    """Yield conversations with few schemas, mostly of one type, so that they repeat and are compared."""
    strategies = [each for each in Strategy if each is not Strategy.UNDEFINED]
    for position in range(150):
        kinds, pool, requests = random.choice((_KINDS, *((kind,) for kind in _KINDS))), list[_Sent](), list[Request]()
        for _ in range(random.randint(3, 12)):
            if not pool or random.random() < 0.7:
                pool.append(_schema(random, random.choice(kinds)))
            method = random.choice((post,) * 5 + (compatibility,) * 2 + (number,))
            reads = (get(), get(f"schema/{random.randint(0, 5)}"), get("schemas"), DELETE)
            requests.append(method(*random.choice(pool)) if random.random() < 0.75 else random.choice(reads))
        yield f"random {position}", random.choice(strategies), [*requests, get("schemas")]


def _schema(random: Random, kind: str) -> _Sent:
    if kind in _STRUCTURED:
        return _avro(random), kind, {"p": random.choice("xy")} if random.random() < 0.3 else {}
    if kind == "KEY_VALUE":
        kinds = random.choice(("STRING", "INT32", "AVRO", "JSON")), random.choice(("DOUBLE", *_STRUCTURED))
        parts = [json.loads(_record(random)) if each in _STRUCTURED else "" for each in kinds]
        text = json.dumps(dict(zip(("key", "value"), parts, strict=True)))
        return text, kind, pair(*kinds, random.choice(("INLINE", "SEPARATED")))
    if kind == "PROTOBUF_NATIVE":
        return envelope(random.choice("MN"), *random.sample("abc", random.randint(0, 3))), kind, {}
    return random.choice(("", "", "", "x")), kind, {}


def _avro(random: Random) -> str:
    text = random.choice(_OTHERS) if random.random() < 0.08 else _record(random)
    return json.dumps(json.loads(text), indent=1) if text and random.random() < 0.1 else text


def _record(random: Random) -> str:
    fields = {str(each["name"]): each for each in random.sample(_FIELDS, random.randint(0, 3))}
    more = {
        name: value for name, value in (("namespace", "x"), ("doc", "d"), ("aliases", ["S"])) if random.random() < 0.2
    }
    return record(*fields.values(), name=random.choice("RRRS"), **more)
