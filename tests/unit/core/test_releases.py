"""The rules that apply to a broker's release, and the releases that are not yet compared with them."""

import pytest

from topicschema.core.releases import judging_version, release_of, unknown_note


@pytest.mark.parametrize(
    ("release", "judging", "is_known"),
    [
        ("4.0.0", "4.0", True),
        ("4.0.7-SNAPSHOT", "4.0", True),
        ("4.1.0.3", "4.1", True),
        ("4.2.4", "4.2", True),
        ("3.3.2", "4.0", False),
        ("4.77.0", "4.2", False),
        ("5.0.0-M1", "5.0", True),
        ("77.0.0-M1", None, False),
    ],
)
def test_a_release_is_judged_by_the_newest_version_that_is_not_newer(
    release: str, judging: str | None, *, is_known: bool
) -> None:
    pulsar_version = judging_version(release)
    assert pulsar_version is not None
    assert judging in (None, pulsar_version.value)
    assert (unknown_note(release) == "") is is_known
    assert is_known or f"the broker is {release}, which this operator does not know" in unknown_note(release)
    assert is_known or unknown_note(release).endswith(f"judged by the rules of {pulsar_version}")


@pytest.mark.parametrize("text", ["", "unknown", "<html>4.0</html>", "v4.0", "4", "99999.0"])
def test_what_is_no_release_decides_nothing(text: str) -> None:
    assert release_of(text) is None
    assert judging_version(text) is None
    assert unknown_note(text) == ""


def test_a_release_is_what_the_answer_begins_with() -> None:
    assert release_of(" 5.0.0-M1\n") == "5.0.0-M1"
