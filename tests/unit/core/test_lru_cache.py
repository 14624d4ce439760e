"""The cache's bound, and what a payload weighs."""

from topicschema.core.lru_cache import LruCache
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.storage.payloads import weight


def test_the_least_recently_used_value_goes_first() -> None:
    cache = LruCache[int, str](3)
    for number in range(3):
        cache.put(number, str(number), 1)
    assert cache.get(0) == "0"
    cache.put(3, "3", 1)
    assert [cache.get(number) for number in range(4)] == ["0", None, "2", "3"]


def test_no_more_is_stored_than_the_limit_however_many_come() -> None:
    cache = LruCache[int, int](600)
    for number in range(200):
        cache.put(number, number, number)
    assert [number for number in range(200) if cache.get(number) is not None] == [197, 198, 199]


def test_a_value_is_replaced_with_its_weight() -> None:
    cache = LruCache[str, str](3)
    cache.put("a", "old", 2)
    cache.put("a", "new", 1)
    cache.put("b", "b", 2)
    assert (cache.get("a"), cache.get("b")) == ("new", "b")


def test_a_value_beyond_the_limit_is_not_stored_and_drives_nothing_out() -> None:
    cache = LruCache[str, str](3)
    cache.put("a", "a", 3)
    cache.put("b", "b", 4)
    assert (cache.get("a"), cache.get("b")) == ("a", None)


def test_properties_count_too() -> None:
    light, heavy = (SchemaInfo(SchemaType.AVRO, b"", {"k": "v" * size}) for size in (10, 6000))
    assert weight(heavy) - weight(light) == 5990
