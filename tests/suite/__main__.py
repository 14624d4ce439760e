"""`python -m suite [TIER ...]`: all tiers, or the named ones; one line each, then what failed, then the sums."""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suite import tiers
from suite.running import Result
from suite.tiers import Stage, Tier
from support import sizes

_ROOT = Path(__file__).parents[2]


def run(stages: tuple[Stage, ...], root: Path, folder: Path, *, may_skip: bool = True) -> bool:
    """Run the stages one after the other and print their results. Return True if nothing failed.

    A tier that this machine cannot run is a failure unless `may_skip`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started, results = time.monotonic(), list[Result]()

    def in_turn(sequence: tuple[Tier, ...]) -> None:
        for tier in sequence:
            results.append(result := Result.of(tier, folder, root))
            print(result.line, flush=True)

    for stage in stages:
        with ThreadPoolExecutor(len(stage)) as pool:
            for done in [pool.submit(in_turn, sequence) for sequence in stage]:
                done.result()
    for result in results:
        if result.details:
            print(f"\n{result.tier.name}: {folder / result.tier.name}.log\n{result.details}")
    counts = sum((result.counts for result in results), Counter())
    print(f"all tiers in {time.monotonic() - started:.0f} s")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return all(result.is_good and (may_skip or not result.is_skipped) for result in results)


def main() -> int:
    """Run what the command line names."""
    stages = tiers.FULL if sizes.IS_FULL else tiers.SAMPLE
    known = {tier.name: tier for stage in tiers.FULL for sequence in stage for tier in sequence}
    parser = argparse.ArgumentParser(prog="python -m suite", description=__doc__)
    parser.add_argument("tiers", nargs="*", metavar="TIER", help=f"one of {', '.join(known)}; default: all")
    parser.add_argument("--may-skip", action="store_true", help="a named tier that cannot run here is no failure")
    arguments = parser.parse_args()
    names = arguments.tiers
    if unknown := set(names) - set(known):
        parser.error(f"no tier is called {', '.join(sorted(unknown))}: the tiers are {', '.join(known)}")
    if names:
        stages = tuple(((known[name],),) for name in names)
    may_skip = arguments.may_skip or not names
    return 0 if run(stages, _ROOT, _ROOT / "build" / "tests", may_skip=may_skip) else 1


if __name__ == "__main__":
    sys.exit(main())
