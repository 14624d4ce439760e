"""Real histories beside Avro's own library: every release against every other, and against all before it.

The wheels they come in, 57 MB, are fetched once, into the cache folder.
"""

import functools
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from demo.errors import DemoError
from differential import oracle
from support.schemas import datahub_releases
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

pytestmark = [pytest.mark.differential, pytest.mark.full, pytest.mark.timeout(1800)]

PAIRWISE = (Strategy.BACKWARD, Strategy.FORWARD, Strategy.FULL)
ALL_STRATEGIES = (*PAIRWISE, *(strategy for strategy in Strategy if strategy.is_transitive))


@functools.cache
def texts(file: str) -> list[str]:
    try:
        return datahub_releases.texts(file)
    except DemoError as error:
        pytest.skip(f"real histories: {error}")


@functools.cache
def avro(file: str, class_path: Path) -> dict[str, Any]:
    (answer,) = oracle.query([{"op": "history", "texts": texts(file)}], class_path=class_path)
    return answer


def parsed(file: str, pulsar_version: PulsarVersion) -> list[Schema]:
    infos = [SchemaInfo(SchemaType.AVRO, text.encode()) for text in texts(file)]
    return [formats.parse(info, pulsar_version, validate_defaults=False) for info in infos]


def is_admitted(candidate: Schema, before: list[Schema], strategy: Strategy) -> bool:
    versions = [Predecessor(number, SchemaType.AVRO, schema) for number, schema in enumerate(before)]
    considered = versions if strategy.is_transitive else versions[-1:]
    return not compatibility.check(candidate, considered, strategy)


@pytest.mark.parametrize("file", datahub_releases.FILES)
@pytest.mark.parametrize("pulsar_version", oracle.AVRO_VERSIONS)
def test_every_release_follows_every_other_exactly_as_avro_does(file: str, pulsar_version: PulsarVersion) -> None:
    schemas, reads = parsed(file, pulsar_version), avro(file, oracle.AVRO_OF[pulsar_version])["reads"]
    wrong = []
    for before, after in product(range(len(schemas)), repeat=2):
        backward, forward = reads[after][before], reads[before][after]
        expected = dict(zip(PAIRWISE, (backward, forward, backward and forward), strict=True))
        admitted = {strategy: is_admitted(schemas[after], [schemas[before]], strategy) for strategy in PAIRWISE}
        wrong += [(before, after)] if admitted != expected else []
    assert wrong == []
    assert len(schemas) == len(datahub_releases.RELEASES) == 40


@pytest.mark.parametrize("file", datahub_releases.FILES)
@pytest.mark.parametrize("pulsar_version", oracle.AVRO_VERSIONS)
def test_every_release_follows_all_before_it_exactly_as_avro_does(file: str, pulsar_version: PulsarVersion) -> None:
    schemas, follows = parsed(file, pulsar_version), avro(file, oracle.AVRO_OF[pulsar_version])["follows"]
    for strategy in ALL_STRATEGIES:
        admitted = [is_admitted(schema, schemas[:number], strategy) for number, schema in enumerate(schemas)]
        assert admitted == follows[strategy.value], strategy
    assert all(
        is_admitted(schema, schemas[:number], Strategy.ALWAYS_COMPATIBLE) for number, schema in enumerate(schemas)
    )
    assert not any(is_admitted(schema, schemas[:1], Strategy.ALWAYS_INCOMPATIBLE) for schema in schemas[1:])
