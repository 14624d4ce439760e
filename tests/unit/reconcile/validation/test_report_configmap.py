"""A verdict counts without its report: one that the API server refuses loses nothing but itself."""

import random

import pytest

from support.validation.validated_topic import asked
from topicschema.api.metadata import Metadata
from topicschema.reconcile.validation.report_configmap import manifest
from topicschema.validation.job.result import Answer

MAPS = "/api/v1/namespaces/shop/configmaps"
METADATA = Metadata(name="created", namespace="shop", uid="uid-1")


@pytest.mark.parametrize("status", [403, 413, 422])
async def test_a_report_that_is_refused_leaves_the_verdict_which_is_not_asked_for_again(status: int) -> None:
    async with asked("Gate") as topic:
        assert await topic.look() == "Validating"
        topic.ends(await topic.newest(), Answer.PASS, "2026-11-21T12:00:00Z")
        topic.world.api.refusals = {f"PATCH {MAPS}": status}
        assert await topic.look() == ""
        told = (await topic.settle())["validation"]
        assert (told["phase"], "report" in told) == ("Passed", False)
        assert len(await topic.jobs()) == 1


def test_what_is_no_utf8_is_measured_as_it_is_kept() -> None:
    report = random.Random(1).randbytes(800 * 1024)  # noqa: S311 - what lzma cannot pack
    body = manifest(METADATA, "job", report)
    assert "report.json" not in body["data"]
    assert "report.json.xz" in body["binaryData"]
