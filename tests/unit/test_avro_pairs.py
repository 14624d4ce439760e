"""The generators that the other tests draw from."""

from support.schemas import avro_pairs


def test_a_pair_is_the_same_whatever_pairs_were_made_before() -> None:
    """A seed that is printed repeats the run, also where only some of its tests are run again."""
    numbers = range(3_000)
    first = [avro_pairs.pair("once more", number) for number in numbers]
    assert [avro_pairs.pair("once more", number) for number in numbers] == first
