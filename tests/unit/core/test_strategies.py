import pytest

from topicschema.core.strategies import Direction, Strategy, UpgradeFirst

BACKWARD, FORWARD = Direction.BACKWARD, Direction.FORWARD


@pytest.mark.parametrize(
    ("strategy", "directions", "looks_at", "upgrade_first"),
    [
        (Strategy.UNDEFINED, (), "latest", UpgradeFirst.NONE),
        (Strategy.ALWAYS_INCOMPATIBLE, (), "latest", UpgradeFirst.NONE),
        (Strategy.ALWAYS_COMPATIBLE, (), "latest", UpgradeFirst.ANY),
        (Strategy.BACKWARD, (BACKWARD,), "latest", UpgradeFirst.CONSUMERS),
        (Strategy.FORWARD, (FORWARD,), "latest", UpgradeFirst.PRODUCERS),
        (Strategy.FULL, (FORWARD, BACKWARD), "latest", UpgradeFirst.ANY),
        (Strategy.BACKWARD_TRANSITIVE, (BACKWARD,), "all", UpgradeFirst.CONSUMERS),
        (Strategy.FORWARD_TRANSITIVE, (FORWARD,), "all", UpgradeFirst.PRODUCERS),
        (Strategy.FULL_TRANSITIVE, (FORWARD, BACKWARD), "all", UpgradeFirst.ANY),
    ],
)
def test_each_strategy_means_what_pulsar_documents(
    strategy: Strategy, directions: tuple[Direction, ...], looks_at: str, upgrade_first: UpgradeFirst
) -> None:
    assert strategy.directions == directions
    assert strategy.is_transitive is (looks_at == "all")
    assert strategy.upgrade_first is upgrade_first
