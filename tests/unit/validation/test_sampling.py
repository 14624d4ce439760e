"""The sample of messages, which depends on their positions."""

import numpy as np

from topicschema.validation.request import Sample
from topicschema.validation.run.sampling import MessageLocations, Sampling

COUNT = 60_000
ROWS = np.arange(COUNT)
PLACES = MessageLocations(ROWS % 4, np.full(COUNT, 9), ROWS, np.full(COUNT, -1))
TIMES = ROWS * 1_000


def chosen(sample: Sample, started: int = 0) -> np.ndarray:
    flags = Sampling.of(sample, COUNT, started).chosen(PLACES, TIMES)
    return np.ones(COUNT, np.bool_) if flags is None else flags


def test_a_percentage_takes_its_share_of_each_partition() -> None:
    flags = chosen(Sample(percent=10))
    shares = [float(flags[PLACES.partition == number].mean()) for number in range(4)]
    assert all(abs(share - 0.1) < 0.01 for share in shares)
    assert not (flags & ~chosen(Sample(percent=50))).any()
    assert Sampling.of(Sample(), COUNT, 0).chosen(PLACES, TIMES) is None


def test_a_percentage_of_few_messages_takes_enough_of_them_to_say_something() -> None:
    for messages, least in ((40, 40), (1_000, 1_000), (20_000, 800)):
        flags = Sampling.of(Sample(percent=1), messages, 0).chosen(PLACES.take(ROWS[:messages]), TIMES[:messages])
        assert (messages if flags is None else int(flags.sum())) >= least
    assert abs(int(chosen(Sample(percent=1)).sum()) - 1_000) < 150


def test_about_the_maximum_number_of_messages_is_validated() -> None:
    assert abs(int(chosen(Sample(max_messages=5_000)).sum()) - 5_000) < 300
    assert chosen(Sample(max_messages=COUNT)).all()


def test_the_same_seed_takes_the_same_messages_in_any_order_and_another_one_others() -> None:
    sampling = Sampling.of(Sample(percent=30, seed=4), COUNT, 0)
    whole = sampling.chosen(PLACES, TIMES)
    assert whole is not None
    backwards = sampling.chosen(PLACES.take(ROWS[::-1]), TIMES[::-1])
    assert backwards is not None
    assert (backwards[::-1] == whole).all()
    assert (chosen(Sample(percent=30, seed=5)) != whole).any()


def test_what_is_too_old_is_left_out_and_what_has_no_time_is_not() -> None:
    sampling = Sampling.of(Sample(since_seconds=10), COUNT, COUNT * 1_000)
    flags = sampling.chosen(PLACES, np.where(ROWS == 0, -1, TIMES))
    assert flags is not None
    assert np.flatnonzero(flags).tolist() == [0, *range(COUNT - 10, COUNT)]
