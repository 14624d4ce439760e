"""A verdict counts without its report: one that the API server refuses loses nothing but itself."""

import random

import pytest

from asked_topic import asked
from topicschema.api.kinds import CONFIG_MAP
from topicschema.api.metadata import Metadata
from topicschema.reconcile.validating_logs import manifest
from topicschema.spark.verdict import Answer

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


async def test_a_report_that_may_not_be_emptied_keeps_no_status_from_being_told() -> None:
    async with asked("Report", includeValues=True) as topic:
        await topic.look()
        name = manifest(METADATA, "job", b"{}")["metadata"]["name"]
        topic.world.api.change("/topicschemas/created", lambda there: there["metadata"].update(uid="uid-1"))
        topic.world.api.put(CONFIG_MAP, "shop", name, {"data": {}})
        (job,) = await topic.jobs()
        topic.world.api.change(f"/jobs/{job['metadata']['name']}", _of_uid_1)
        topic.ends(job, Answer.FAIL, "2026-11-21T12:00:00Z")
        await topic.look()
        assert (await topic.status())["validation"]["report"] == name
        topic.world.api.refusals = {f"PATCH {MAPS}": 403}
        topic.governs("Off")
        assert await topic.look() == ""
        assert "validation" not in await topic.settle()


def _of_uid_1(job: dict[str, object]) -> None:
    job["metadata"]["ownerReferences"][0]["uid"] = "uid-1"  # type: ignore[index]


def test_what_is_no_utf8_is_measured_as_it_is_kept() -> None:
    report = random.Random(1).randbytes(800 * 1024)  # noqa: S311 - what lzma cannot pack
    body = manifest(METADATA, "job", report)
    assert "report.json" not in body["data"]
    assert "report.json.xz" in body["binaryData"]
