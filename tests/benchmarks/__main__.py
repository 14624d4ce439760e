"""`python -m benchmarks [NAME...]`: measure, print the table, write benchmarks.json."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks import (
    brokers,
    checks,
    core,
    edits,
    images,
    memory,
    pipeline,
    policies,
    programs,
    retained,
    reviews,
    settling,
    validators,
    verdict,
)
from benchmarks.rows import Row, table, write

MEASURES: Mapping[str, Callable[[], Iterator[Row]]] = {
    "brokers": brokers.measure,
    "checks": checks.measure,
    "core": core.measure,
    "edits": edits.measure,
    "images": images.measure,
    "validators": validators.measure,
    "memory": memory.measure,
    "pipeline": pipeline.measure,
    "policies": policies.measure,
    "programs": programs.measure,
    "retained": retained.measure,
    "reviews": reviews.measure,
    "settling": settling.measure,
    "verdict": verdict.measure,
}
RESULTS = Path(__file__).parents[2] / "benchmarks.json"


def main() -> None:
    """Run the named measures, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *MEASURES], help="which measures; all when none is named")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of the rows")
    parser.add_argument("--topics", type=int, default=brokers.TOPICS, help="how many are adopted from a broker")
    chosen = parser.parse_args()
    measures = dict(MEASURES)
    measures["brokers"] = partial(brokers.measure, chosen.topics)
    rows: list[Row] = []
    for name in chosen.names or MEASURES:
        print(f"measuring: {name}", flush=True)
        for one in measures[name]():
            ratio = "" if one.ratio is None else f"(ratio {one.ratio:.2f})"
            print(f"  {one.name}: {one.value:g} {one.unit} {ratio}", flush=True)
            rows.append(one)
    write(rows, chosen.results)
    print(table(rows))


if __name__ == "__main__":
    main()
