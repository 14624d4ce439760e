"""Sources for tests: a shop with all features of the notation, and random files that import each other."""

from random import Random

EVERYTHING = {
    "shop/everything.proto": """syntax = "proto2";
package shop.every_thing;

import public "shop/money.proto";
import "shop/options.proto";
import weak "shop/unused.proto";
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";

option java_multiple_files = true;
option (shop.about_file) = { text: "a\\n\\"b\\"" number: 7 more { text: "deep" } };
option (shop.about_file_too) = -1;

// A comment that goes nowhere.
message Everything {
  option (shop.about_message) = "é";
  required int32 first_field = 1 [(shop.about_field) = 5, deprecated = true, (shop.first) = "x"];
  optional string url = 2 [json_name = "URL", default = "a\\tb"];
  optional string same_name = 3 [json_name = "sameName", (shop.for_sources) = "gone"];
  repeated sint64 packed_ones = 4 [packed = true];
  optional double infinite = 5 [default = -inf];
  optional float small = 6 [default = 1e-9];
  optional bytes raw = 7 [default = "\\001\\xff"];
  optional bool is_open = 8 [default = true];
  optional Kind kind = 9 [default = SECOND];
  optional group Part = 10 { optional uint32 in_part = 1; }
  map<string, Everything> by_name = 11;
  map<int64, google.protobuf.Any> by_number = 12 [json_name = "numbers"];
  oneof choice {
    option (shop.about_oneof) = true;
    fixed32 one = 13;
    .shop.Money other = 14 [lazy = true];
  }
  optional google.protobuf.Struct free = 15;
  reserved 16, 20 to 30, 100000 to max;
  reserved "gone", "lost";
  extensions 200 to 299, 400;
  extensions 500 to 510 [verification = UNVERIFIED];
  message Nested {
    enum Inner { NONE = 0; }
    message Deeper { optional Inner inner = 1 [json_name = "i"]; }
    extend Everything { optional string in_nested = 201; }
  }
  enum Kind {
    option allow_alias = true;
    reserved 5, 7 to max;
    reserved "NEVER";
    FIRST = -1;
    SECOND = 2;
    ALSO_SECOND = 2 [deprecated = true, (shop.about_value) = "v"];
  }
}

extend Everything { repeated .shop.Money at_top = 200; }

service Till {
  option deprecated = true;
  rpc Pay(.shop.Money) returns (stream Everything) { option idempotency_level = IDEMPOTENT; }
}
""",
    "shop/money.proto": """syntax = "proto3";
package shop;
option java_multiple_files = true;
option optimize_for = CODE_SIZE;
message Money {
  optional string currency_code = 1;
  oneof amount { int64 units = 2; string text = 3; }
  repeated int32 digits = 4 [packed = false];
  optional bytes note = 5 [json_name = "note"];
}
""",
    "shop/options.proto": """syntax = "proto2";
package shop;
import "google/protobuf/descriptor.proto";
option java_multiple_files = true;
message About { optional string text = 1; optional int32 number = 2; optional About more = 3; }
extend google.protobuf.FileOptions { optional About about_file = 50001; optional sint32 about_file_too = 50000; }
extend google.protobuf.MessageOptions { optional string about_message = 50000; }
extend google.protobuf.FieldOptions { repeated fixed64 about_field = 50002; optional string first = 50001; }
extend google.protobuf.FieldOptions { optional string for_sources = 50003 [retention = RETENTION_SOURCE]; }
extend google.protobuf.OneofOptions { optional bool about_oneof = 50000; }
extend google.protobuf.EnumValueOptions { optional string about_value = 50000; }
""",
    "shop/unused.proto": 'syntax = "proto3"; package shop; option java_multiple_files = true; message Unused {}',
}
"""In proto2 and proto3, with options of its own, which need descriptor.proto."""

EDITIONS = {
    "shop/edition_2023.proto": """edition = "2023";
package shop;
import "google/protobuf/timestamp.proto";
import "shop/options.proto";
option java_multiple_files = true;
option features.enum_type = CLOSED;
message Edition2023 {
  option (about_message) = "x";
  int32 first_field = 1 [features.field_presence = IMPLICIT];
  Kind kind = 2;
  Edition2023 inner = 3 [features.message_encoding = DELIMITED];
  google.protobuf.Timestamp at = 4 [features.field_presence = LEGACY_REQUIRED];
  string text = 5 [json_name = "TEXT", features.utf8_validation = NONE];
  repeated int32 numbers = 6 [features.repeated_field_encoding = EXPANDED];
  enum Kind { FIRST = 1; }
  reserved gone, lost;
}
""",
    "shop/edition_2024.proto": """edition = "2024";
package shop;
import option "shop/options.proto";
export message Edition2024 { option (about_message) = "x"; int32 a = 1; Hidden hidden = 2; }
local message Hidden {}
""",
}
"""In editions; they need `shop/options.proto`."""


def random_files(random: Random) -> dict[str, str]:
    """Return a root file, first, with the message `Root`, and its imports: up to sixty files in folders."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
    names = [
        "/".join(_word(random, letters) for _ in range(random.randrange(1, 4))) for _ in range(random.randrange(60))
    ]
    files = [f"{name}.proto" for name in dict.fromkeys(names)] or ["root.proto"]
    return {name: _text(index, files[index + 1 :], random) for index, name in enumerate(files)}


def _word(random: Random, letters: str) -> str:
    return "".join(random.choice(letters) for _ in range(random.randrange(1, 12)))


def _text(index: int, later: list[str], random: Random) -> str:
    """Return a file that imports some of the later ones, always the next one."""
    imports = [*later[:1], *random.sample(later[1:], min(len(later[1:]), random.randrange(4)))]
    random.shuffle(imports)
    lines = "".join(f'import "{each}";\n' for each in imports)
    message = "Root" if index == 0 else f"Message{index}"
    return f'syntax = "proto3";\n{lines}message {message} {{ int32 some_number = 1; }}\n'
