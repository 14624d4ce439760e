"""Image sizes: those of validation runs without and with Spark, and the operator's beyond its base."""

from collections.abc import Iterator

from benchmarks.rows import Row, bounded
from testbed import images
from testbed.progress import Progress

_MEGABYTE = 1e6
_OPERATOR, _VALIDATION, _SPARK = 180, 700, 1300


def measure() -> Iterator[Row]:
    """Yield the unpacked sizes of the images, which are built unless they are in the cache."""
    operator, validation, spark = (images.build(name, Progress()) for name in images.NAMES)
    if operator.base_size:
        beyond = (operator.size - operator.base_size) / _MEGABYTE
        yield bounded("operator image beyond its base", beyond, "MB", _OPERATOR)
    yield bounded("validation image without Spark", validation.size / _MEGABYTE, "MB", _VALIDATION)
    yield bounded("validation image with Spark", spark.size / _MEGABYTE, "MB", _SPARK)
