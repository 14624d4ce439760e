"""The generators of the other tests."""

from support.schemas import avro_pairs


def test_a_pair_does_not_depend_on_earlier_pairs() -> None:
    # A printed seed repeats the run, also if only some of its tests run again.
    numbers = range(3_000)
    first = [avro_pairs.pair("again", number) for number in numbers]
    assert [avro_pairs.pair("again", number) for number in numbers] == first
