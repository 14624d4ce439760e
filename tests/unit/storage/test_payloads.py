"""The payload cache's bound."""

from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.storage.payloads import PayloadCache


def payload(n: int, size: int = 1000) -> SchemaInfo:
    return SchemaInfo(SchemaType.AVRO, bytes([n]) * size)


def test_the_longest_unused_payload_goes_first() -> None:
    cache = PayloadCache(5000)
    for n in range(3):
        cache.put(payload(n))
    assert cache.get(payload(0).content_hash) == payload(0)
    cache.put(payload(3))
    assert [cache.get(payload(n).content_hash) is not None for n in range(4)] == [True, False, True, True]


def test_never_more_is_kept_than_the_capacity_however_many_come() -> None:
    cache = PayloadCache(10_000)
    for n in range(200):
        cache.put(payload(n, size=10 * n))
    kept = [n for n in range(200) if cache.get(payload(n, size=10 * n).content_hash) is not None]
    assert kept == [197, 198, 199]


def test_a_payload_beyond_the_capacity_is_not_kept_and_drives_nothing_out() -> None:
    cache = PayloadCache(5000)
    cache.put(payload(1))
    cache.put(payload(2, size=5000))
    assert cache.get(payload(2).content_hash) is None
    assert cache.get(payload(1).content_hash) == payload(1)


def test_properties_count_too() -> None:
    cache = PayloadCache(5000)
    heavy = SchemaInfo(SchemaType.AVRO, b"", {"k": "v" * 6000})
    cache.put(heavy)
    assert cache.get(heavy.content_hash) is None
