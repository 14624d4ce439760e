"""docs/ci.md and the hook for pre-commit: their command lines run in a clone as a CI job has it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.manifest_repository import Repository, fields, policy, topic

ROOT = Path(__file__).parents[3]
JOBS = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.DOTALL)]
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
H0, H2 = fields("id", "x="), fields("id", "x:int")


@pytest.fixture
def clone(tmp_path: Path) -> Repository:
    """Return a clone on a branch with an edit that the webhook would refuse."""
    origin = Repository.create(tmp_path / "origin")
    origin.write("manifests/policy.yaml", policy())
    origin.write("manifests/created.yaml", topic(H0))
    origin.commit()
    origin.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Repository(tmp_path / "clone")
    clone.git("switch", "--quiet", "--create", "edit")
    clone.write("manifests/created.yaml", topic(H2))
    clone.commit()
    return clone


def run(where: Path, lines: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the lines of a job as its shell does, without those that install the command."""
    script = "\n".join(line for line in lines if not line.startswith("pip install"))
    function = f'topicschema() {{ {shlex.quote(sys.executable)} -m topicschema "$@"; }}'
    return subprocess.run(
        ["/bin/sh", "-e", "-c", f"{function}\n{script}"],
        cwd=where,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_workflow_for_github_annotates_the_refused_line(clone: Repository) -> None:
    [workflow] = [each for each in JOBS if "jobs" in each]
    steps = workflow["jobs"]["check"]["steps"]
    assert steps[0]["with"] == {"fetch-depth": 0}
    done = run(clone.root, [each["run"] for each in steps if "run" in each], GITHUB_BASE_REF="main")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=manifests/created.yaml,line=8,")
    clone.git("reset", "--quiet", "--hard", "origin/main")
    done = run(clone.root, [each["run"] for each in steps if "run" in each], GITHUB_BASE_REF="main")
    assert (done.returncode, done.stdout) == (0, "2 resources: 2 unchanged\n")


def test_the_job_for_gitlab_writes_a_report(clone: Repository) -> None:
    [job] = [each["schemas"] for each in JOBS if "schemas" in each]
    assert job["variables"] == {"GIT_DEPTH": "0"}
    done = run(clone.root, job["script"], CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
    assert done.returncode == 1, done.stderr
    assert 'type="TYPE_MISMATCH"' in (clone.root / job["artifacts"]["reports"]["junit"]).read_text()


def test_the_hook_checks_the_working_tree_against_head(clone: Repository) -> None:
    assert re.search(HOOK["files"], "manifests/created.yaml")
    clone.git("reset", "--quiet", "--hard", "origin/main")
    line = shlex.join([*shlex.split(HOOK["entry"]), *HOOK["args"]])
    assert run(clone.root, [line]).returncode == 0
    clone.write("manifests/created.yaml", topic(H2))
    assert run(clone.root, [line]).returncode == 1


def test_pre_commit_takes_the_hook() -> None:
    line = [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
