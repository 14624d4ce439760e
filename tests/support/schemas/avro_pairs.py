"""All generators of Avro pairs in one: the texts of a reader and a writer by a seed and a number."""

import json
import random

from support.schemas import avro_circles, avro_evolution, avro_readings, avro_redefinitions, avro_schemas


def pair(seed: str, number: int) -> tuple[str, str]:
    rng = random.Random(f"{seed} {number}")  # noqa: S311 - chance for tests, to be repeated
    roll = rng.random()
    if roll < 0.5:
        return avro_evolution.pair(rng)
    if roll < 0.72:
        return avro_readings.pair(rng)
    if roll < 0.90:
        reader, writer = avro_schemas.pair(rng)
        return json.dumps(reader), json.dumps(writer)
    if roll < 0.94:
        return avro_redefinitions.pair(rng)
    return avro_circles.pair(rng) if roll < 0.96 else (avro_schemas.spoilt(rng), avro_schemas.spoilt(rng))
