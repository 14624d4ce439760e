import pytest

from hostile.costly import FAMILIES
from support.kubernetes.admission import World


async def test_a_comparison_that_takes_too_many_steps_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicschema.core.verdict.MOST_STEPS", 10_000)
    earlier, candidate = (FAMILIES["full"](40, version) for version in range(2))
    await world.policy(schemaCompatibilityStrategy="BACKWARD")
    await world.versions(earlier.schema.decode())
    refusal = (await world.create(candidate.schema.decode())).refusal
    assert refusal["code"] == 422
    (cause,) = refusal["details"]["causes"]
    assert cause["message"].startswith("COMPARISON_TOO_COMPLEX at $: ")
