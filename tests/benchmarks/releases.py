"""Two releases of one real schema: DataHub's MetadataChangeEvent, 377 kB each, fetched as the demo's wheels."""

from demo import wheels
from demo.wheels import Release
from testbed.progress import Progress

_RELEASES = (
    Release("acryl-datahub", "1.1.0", "a3231b002295ce876a6931789a246ba154294aa4e512eeb068b2d42d0332bfb1"),
    Release("acryl-datahub", "1.2.0", "2ff5655e9ed583e1d4906a65e0cf83a814ee60a2e3adedce3c2da39c252aa45a"),
)


def texts() -> list[bytes]:
    """Return the texts, the older first."""
    files = wheels.fetch(_RELEASES, Progress())
    return [wheels.extract(files[release], "MetadataChangeEvent.avsc").encode() for release in _RELEASES]
