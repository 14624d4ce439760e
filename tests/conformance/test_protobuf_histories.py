"""Real histories of protobuf: the risks of each release of googleapis-common-protos after each one before it.

Every release is compared with every earlier one, for some seconds.
"""

from itertools import combinations

import pytest

from demo.errors import DemoError
from support.schemas import googleapis_releases
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

PATH = "$.fileDescriptorSet."
BEFORE = ("1.52.0", "1.53.0")
EXPECTED = {
    "google.api.Service": {
        # `repeated string features = 4` is gone from Endpoint, and nothing stands in its place.
        ("FIELD_NUMBER_NOT_RESERVED", f"{PATH}google.api.Endpoint"),
        # `reserved 101;` is gone from Service.
        ("RESERVED_NUMBER_REMOVED", f"{PATH}google.api.Service"),
    }
}
"""Risks that 1.56.4 made, for a change from an earlier release to it or a later one, according to the sources.

All other changes of these years are additions, and options.
"""


def history(root: str) -> dict[str, ProtobufNativeSchema]:
    try:
        texts = googleapis_releases.envelopes(root)
    except DemoError as error:
        pytest.skip(f"real histories of protobuf: {error}")
    schemas = {number: formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, text)) for number, text in texts.items()}
    return {number: each for number, each in schemas.items() if isinstance(each, ProtobufNativeSchema)}


@pytest.mark.parametrize("root", googleapis_releases.ROOTS)
def test_every_release_may_follow_every_earlier_one_and_the_risks_are_those_that_its_sources_show(root: str) -> None:
    schemas = history(root)
    assert len(schemas) == 8
    for (earlier, before), (later, after) in combinations(schemas.items(), 2):
        considered = [Predecessor(0, SchemaType.PROTOBUF_NATIVE, before)]
        assert compatibility.check(after, considered, Strategy.FULL) == ()
        risks = {(each.rule, each.path) for each in compatibility.risks(after, considered, Strategy.FULL)}
        assert risks == (EXPECTED.get(root, set()) if earlier in BEFORE and later not in BEFORE else set())


@pytest.mark.parametrize("root", googleapis_releases.ROOTS)
def test_no_release_is_a_risk_to_itself(root: str) -> None:
    for schema in history(root).values():
        assert schema.descriptors.root.full_name == root
        assert formats.risks(schema, formats.parse(schema.info)) == ()
