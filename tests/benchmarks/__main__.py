"""`python -m benchmarks [NAME...]`: measure, print the table, write benchmarks.json."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks import (
    brokers,
    checks,
    columns,
    core,
    edits,
    images,
    memory,
    pipeline,
    policies,
    programs,
    registry,
    retained,
    reviews,
    settling,
    spark,
    storage,
    validators,
    verdict,
)
from benchmarks.rows import Row, table, write

_MODULES = (
    *(brokers, checks, columns, core, edits, images, validators, memory),
    *(pipeline, policies, programs, registry, retained, reviews, settling, spark, storage, verdict),
)
MEASURES: Mapping[str, Callable[[], Iterator[Row]]] = {
    each.__name__.rpartition(".")[2]: each.measure for each in _MODULES
}
RESULTS = Path(__file__).parents[2] / "benchmarks.json"


def main() -> None:
    """Run the named measures, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *MEASURES], help="which measures; all when none is named")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of the rows")
    chosen = parser.parse_args()
    rows: list[Row] = []
    for name in chosen.names or MEASURES:
        print(f"measuring: {name}", flush=True)
        for one in MEASURES[name]():
            ratio = "" if one.ratio is None else f"(ratio {one.ratio:.2f})"
            print(f"  {one.name}: {one.value:g} {one.unit} {ratio}", flush=True)
            rows.append(one)
    write(rows, chosen.results)
    print(table(rows))


if __name__ == "__main__":
    main()
