"""Protobuf schemas of an order, by hand: every sort of field, in proto2 and proto3, and one that requires things."""

import json

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from support.schemas import protobuf_schemas
from topicschema.core import formats
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

SCALARS = """
  field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "note" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "lines" number: 3 type: TYPE_MESSAGE type_name: ".p.Line" label: LABEL_REPEATED }
  field { name: "by" number: 4 type: TYPE_MESSAGE type_name: ".p.Order.ByEntry" label: LABEL_REPEATED }
  field { name: "n" number: 5 type: TYPE_SINT32 label: LABEL_REPEATED }
  field { name: "color" number: 6 type: TYPE_ENUM type_name: ".p.Color" label: LABEL_OPTIONAL }
  field { name: "a" number: 7 type: TYPE_BOOL label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "b" number: 8 type: TYPE_MESSAGE type_name: ".p.Line" label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "raw" number: 9 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "price" number: 10 type: TYPE_FLOAT label: LABEL_OPTIONAL }
  field { name: "colors" number: 11 type: TYPE_ENUM type_name: ".p.Color" label: LABEL_REPEATED }
  field { name: "fixed" number: 12 type: TYPE_FIXED32 label: LABEL_REPEATED }
  oneof_decl { name: "choice" }
"""
ORDER = f"""
package: "p" name: "o.proto" syntax: "SYNTAX"
message_type {{ name: "Order" {SCALARS}
  nested_type {{ name: "ByEntry" options {{ map_entry: true }}
    field {{ name: "key" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }}
    field {{ name: "value" number: 2 type: TYPE_MESSAGE type_name: ".p.Line" label: LABEL_OPTIONAL }} }} }}
message_type {{ name: "Line"
  field {{ name: "sku" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }}
  field {{ name: "next" number: 2 type: TYPE_MESSAGE type_name: ".p.Line" label: LABEL_OPTIONAL }} }}
enum_type {{ name: "Color" value {{ name: "NONE" number: 0 }} value {{ name: "RED" number: 1 }} }}
"""
REQUIRED = """
package: "p" name: "o.proto"
message_type { name: "Order"
  field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_REQUIRED }
  field { name: "part" number: 2 type: TYPE_GROUP type_name: ".p.Order" label: LABEL_OPTIONAL }
  field { name: "one" number: 3 type: TYPE_MESSAGE type_name: ".p.Order" label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "other" number: 4 type: TYPE_INT32 label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "by" number: 5 type: TYPE_MESSAGE type_name: ".p.Order.ByEntry" label: LABEL_REPEATED }
  oneof_decl { name: "choice" }
  nested_type { name: "ByEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_MESSAGE type_name: ".p.Order" label: LABEL_OPTIONAL } } }
"""

MIXED = """
package: "p" name: "o.proto"
message_type { name: "Order"
  field { name: "notes" number: 1 type: TYPE_MESSAGE type_name: ".p.Notes" label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "none" number: 2 type: TYPE_BOOL label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "lines" number: 3 type: TYPE_MESSAGE type_name: ".p.Line" label: LABEL_REPEATED }
  oneof_decl { name: "choice" } }
message_type { name: "Notes"
  field { name: "by" number: 1 type: TYPE_MESSAGE type_name: ".p.Notes.ByEntry" label: LABEL_REPEATED }
  nested_type { name: "ByEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_MESSAGE type_name: ".p.Notes" label: LABEL_OPTIONAL } } }
message_type { name: "Line" field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_REQUIRED } }
"""


def schema(file: str) -> Schema:
    """Return the schema of a file descriptor in text form, whose root is p.Order."""
    files = FileDescriptorSet(file=[text_format.Parse(file, FileDescriptorProto())])
    envelope = json.dumps(protobuf_schemas.envelope(files, "p.Order", "o.proto")).encode()
    return formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope))


PROTO_3 = schema(ORDER.replace("SYNTAX", "proto3"))
PROTO_2 = schema(ORDER.replace("SYNTAX", "proto2"))
NEEDY = schema(REQUIRED)
UNEVEN = schema(MIXED)
"""Lines require something, the notes that are entries' values do not."""
