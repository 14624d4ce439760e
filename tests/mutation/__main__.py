"""`python -m mutation [--seed N] [--count N] [--slice 1/10]`: try a sample of mutants of `core`, and tell the score.

Answers are kept in `.mutation/`, so that a slice that is run again goes on where it stopped; remove it to begin anew.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from mutation.runs import Outcome, Tree, slices

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Try the slice."""
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500, help="how many mutants the sample has")
    parser.add_argument("--slice", default="1/1", help="which part of the sample, for instance 3/10")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree that is copied")
    chosen = parser.parse_args()
    one, of = map(int, chosen.slice.split("/"))
    results = chosen.root / ".mutation" / f"seed-{chosen.seed}.jsonl"
    results.parent.mkdir(exist_ok=True)
    known = _known(results)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        tree = Tree(chosen.root, Path(folder))
        places = list(slices(tree.sample(chosen.seed, chosen.count), one, of))
        if any(place.name not in known for place in places):
            tree.learn(results.parent)
        for place in places:
            if place.name not in known:
                known[place.name] = tree.tried(place)
                with results.open("a") as file:
                    file.write(json.dumps({"mutant": place.name, "outcome": known[place.name]}) + "\n")
    _tell({place.name: Outcome(known[place.name]) for place in places})


def _known(results: Path) -> dict[str, str]:
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return {line["mutant"]: line["outcome"] for line in lines}


def _tell(outcomes: dict[str, Outcome]) -> None:
    for name, outcome in sorted(outcomes.items()):
        if outcome in (Outcome.SURVIVED, Outcome.NOT_RUN):
            sys.stdout.write(f"{outcome}: {name}\n")
    counts = Counter(outcomes.values())
    killed = counts[Outcome.KILLED] + counts[Outcome.TIMED_OUT]
    sys.stdout.write(
        f"{killed} of {len(outcomes)} killed: {', '.join(f'{count} {outcome}' for outcome, count in counts.items())}\n"
    )


if __name__ == "__main__":
    main()
