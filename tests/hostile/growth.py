"""Measure the costs of judging: `python -m hostile.growth [FAMILY ...]`, by hand, on a quiet machine.

Prints a line for each family, at a quarter, a half and all of the largest text, with 1 and 20 versions. A line has the
CPU time to parse the slowest text and to judge by the most expensive strategy, and the peak memory. The exit code is 1
if a family exceeds a limit. Memory is limited with 1 version only: here all versions are in memory at once, as in no
process of the operator.
"""

import gc
import json
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, Final

from hostile.costly import FAMILIES, Family
from hostile.lookups import LOOKUPS, pulsar_version
from hostile.shapes import SHAPES
from support.judged import judge
from support.memory import peak
from topicschema.__main__ import COLLECTOR
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import History, Origin
from topicschema.core.policy import Policy
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic, TopicKey
from topicschema.core.verdict import Candidate

LARGEST: Final = 900_000
MOST_SECONDS: Final = 3.0
MOST_BYTES: Final = 256 * 2**20
_ALL: Final = {**FAMILIES, **LOOKUPS, **SHAPES}


def sized(family: Family, most: int) -> int:
    """Return the largest size whose text has at most `most` bytes."""
    size = 1
    while len(family(2 * size, 1).schema) <= most and size < most:
        size *= 2
    low, high = size, 2 * size
    while high - low > max(low // 50, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if len(family(middle, 1).schema) <= most else (low, middle)
    return low


def measure(name: str, most: int, count: int) -> dict[str, object]:
    """Measure the judgment of version `count` after those before it, in a process that does nothing else."""
    gc.set_threshold(*COLLECTOR)  # as in the program itself
    family = _ALL[name]
    size = sized(family, most)
    infos = [family(size, version) for version in range(count + 1)]
    line: dict[str, object] = {"name": name, "size": size, "bytes": len(infos[-1].schema), "versions": count}
    schemas: list[Schema] = []
    parsing = 0.0
    for info in infos:
        began = time.process_time()
        with suppress(InvalidSchemaError):
            schemas.append(formats.parse(info, pulsar_version(name)))
        parsing = max(parsing, time.process_time() - began)
    memory = peak()
    line |= {"parse": round(parsing, 2), "megabytes parsed": memory >> 20}
    if len(schemas) < len(infos):
        return {**line, "peak": memory >> 20, "verdict": "refused"}
    worst, slowest, verdict = 0.0, "", ""
    for strategy in Strategy:
        began = time.process_time()
        rules = _rules(schemas, strategy)
        spent = time.process_time() - began
        if spent > worst:
            worst, slowest, verdict = spent, strategy.value, rules
    return {
        **line,
        "seconds": round(worst, 2),
        "strategy": slowest,
        "peak": peak() >> 20,
        "verdict": verdict,
    }


def is_over(line: dict[str, Any]) -> bool:
    """Return True if a measurement is beyond a limit, or failed."""
    if "died" in line:
        return True
    is_large = line["versions"] == 1 and line["peak"] << 20 > MOST_BYTES
    return bool(is_large or max(line["parse"], line.get("seconds", 0)) > MOST_SECONDS)


def _rules(schemas: list[Schema], strategy: Strategy) -> str:
    history = History(TopicKey("pulsar", Topic("t", "n", "x")))
    for each in schemas[:-1]:
        history = history.with_version(each, Origin.SPEC, "2026-11-21T06:00:00Z")
    numbered = dict(enumerate(schemas[:-1]))
    verdict = judge(Candidate(schemas[-1]), history, Policy(strategy), numbered)
    return f"{verdict.outcome} {len(verdict.incompatibilities)} {len(verdict.risks)} " + ",".join(
        sorted({each.rule for each in (*verdict.incompatibilities, *verdict.risks)})
    )


def main(names: list[str]) -> int:
    """Measure all families, or those named. Return 1 if a limit is exceeded."""
    failed = 0
    for name in names or _ALL:
        for count in (1, 20):
            for most in (LARGEST // 4, LARGEST // 2, LARGEST):
                command = [sys.executable, "-m", "hostile.growth", "--one", name, str(most), str(count)]
                child = subprocess.run(command, capture_output=True, text=True, check=False)
                line = child.stdout.strip() or json.dumps(
                    {"name": name, "died": child.returncode, "why": child.stderr[-300:]}
                )
                over = is_over(json.loads(line))
                failed |= over
                sys.stdout.write(f"{'OVER' if over else '    '} {line}\n")
                sys.stdout.flush()
    return failed


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        sys.stdout.write(json.dumps(measure(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    else:
        sys.exit(main(sys.argv[1:]))
