"""`check --git`: the history of manifests in Git decides the verdict."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import command_line
from support.manifest_repository import UNJUDGED, Repository, fields, in_yaml, policy, registry, topic
from topicschema.core.schemas import NEWEST

H0, H1, H2 = fields("id", "x="), fields("id"), fields("id", "x:int")
ADDED = H2.replace('"int"', '"int", "default": 0')
"""After H1 alone it is compatible; after H0 its `x` has another type."""
Step = Callable[[Repository], None]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "repository")


def check(repository: Repository, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return command_line.run(repository.root, "check", *arguments, stdin=stdin)


def results(repository: Repository, *paths: str, ref: str = "main") -> dict[str, dict[str, Any]]:
    done = check(repository, "--git", ref, "-o", "json", *(paths or (".",)))
    assert done.stderr == "", done.stderr
    output = json.loads(done.stdout)
    assert done.returncode == (0 if output["compatible"] else 1)
    return {each["name"]: each for each in output["results"]}


def put(file: str, *resources: dict[str, Any]) -> Step:
    return lambda repository: repository.write(file, *resources)


def move(before: str, after: str) -> Step:
    def run(repository: Repository) -> None:
        (repository.root / after).parent.mkdir(parents=True, exist_ok=True)
        repository.git("mv", before, after)

    return run


def damage(repository: Repository) -> None:
    (repository.root / "a.yaml").write_text("topicschema.io: {")


def everything(*steps: Step) -> Step:
    def run(repository: Repository) -> None:
        for each in steps:
            each(repository)

    return run


def commit(repository: Repository, *steps: Step) -> None:
    """Commit each step."""
    for each in steps:
        each(repository)
        repository.commit()


def version(schema: str, **spec: Any) -> Step:
    return put("a.yaml", topic(schema, **spec))


def rules(strategy: str, **spec: Any) -> Step:
    return put("policy.yaml", policy(schemaCompatibilityStrategy=strategy, **spec))


RULES, LATEST_ONLY, OWNED = (
    put("policy.yaml", policy(**spec))
    for spec in ({}, {"schemaCompatibilityStrategy": "BACKWARD"}, {"constraints": {"requiredProperties": ["owner"]}})
)
DELETING = put("policy.yaml", policy(constraints={"allowedDeletionPolicies": ["Delete"]}))
FIRST = everything(RULES, version(H0))
H1_FIRST = everything(LATEST_ONLY, version(H1))
NEXT, LAST = version(H1), version(ADDED)
REMOVAL = put("a.yaml")
BROKER = put("registry.yaml", registry("4.2"))
OTHER_TEXT = fields("id", "x:int", "note=")
EXCEPTION = {"topic": "created", "allowedStrategies": ["ALWAYS_COMPATIBLE"], "until": "2026-01-01", "reason": "unused"}
EXCEPTED = rules("BACKWARD", constraints={"exceptions": [EXCEPTION]})
CLASHING = version(fields("total"), schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
HISTORIES: dict[str, tuple[list[Step], Step, bool]] = {
    "an exception counts if it had not ended at the time of the commit": (
        [everything(EXCEPTED, version(H0)), CLASHING],
        version(fields("total", "x=")),
        True,
    ),
    "an exception counts no more after its end": ([everything(EXCEPTED, version(H0))], CLASHING, False),
    "all versions count under a transitive strategy": ([FIRST, NEXT], LAST, False),
    "the latest counts under another one": ([everything(LATEST_ONLY, version(H0)), NEXT], LAST, True),
    "a moved file is the same resource": (
        [FIRST, move("a.yaml", "b/c.yaml"), put("b/c.yaml", topic(H1))],
        put("b/c.yaml", topic(ADDED)),
        False,
    ),
    "a move in the working tree, too": ([FIRST, NEXT], everything(REMOVAL, put("b.yaml", topic(ADDED))), False),
    "versions belong to the topic, whatever its resource is called": (
        [FIRST, NEXT],
        put("a.yaml", topic(ADDED, "other", topic="persistent://shop/orders/created")),
        False,
    ),
    "the history of a deleted resource counts": ([FIRST, REMOVAL, NEXT], LAST, False),
    "that of one that the operator deleted, too": (
        [everything(DELETING, version(H0, deletionPolicy="Delete")), REMOVAL, NEXT],
        LAST,
        False,
    ),
    "a revert adds no version, and the latest stays": ([H1_FIRST, version(H0), version(H1)], LAST, False),
    "a refused text is no version": ([H1_FIRST, version(H2)], version(OTHER_TEXT), False),
    "a refused text becomes one when the policy permits it": (
        [H1_FIRST, version(H2), rules("ALWAYS_COMPATIBLE")],
        everything(LATEST_ONLY, version(OTHER_TEXT)),
        True,
    ),
    "versions of a weaker policy count under the stricter one": (
        [everything(rules("ALWAYS_COMPATIBLE"), version(H0)), version(fields("x:int")), RULES],
        version(fields("x:int", "note=")),
        False,
    ),
    "a suspended resource registers nothing": ([H1_FIRST, version(H0, suspend=True)], LAST, True),
    "the file of another cluster is another history": (
        [everything(RULES, put("dev/a.yaml", topic(H0)), put("prod/a.yaml", topic(H1)))],
        put("prod/a.yaml", topic(ADDED)),
        True,
    ),
    "a topic's own strategy stays at the broker": (
        [everything(BROKER, rules("BACKWARD"), version(H0, schemaCompatibilityStrategy="BACKWARD_TRANSITIVE")), NEXT],
        LAST,
        False,
    ),
    "without its broker's registry it does not": (
        [everything(rules("BACKWARD"), version(H0, schemaCompatibilityStrategy="BACKWARD_TRANSITIVE")), NEXT],
        LAST,
        True,
    ),
    "the given registry counts, not the REF's": (
        [everything(BROKER, rules("BACKWARD"), version(H0, schemaCompatibilityStrategy="BACKWARD_TRANSITIVE")), NEXT],
        everything(put("registry.yaml", registry()), LAST),
        True,
    ),
    "a topic is immutable": ([FIRST], version(H0, topic="persistent://shop/orders/another"), False),
    "text that no parser accepts is skipped": ([FIRST, damage, NEXT], LAST, False),
    "an edit of what is not judged passes": (
        [everything(RULES, NEXT)],
        everything(OWNED, version(H1, suspend=True)),
        True,
    ),
    "an edit of what is judged does not": (
        [everything(RULES, NEXT)],
        everything(OWNED, version(H1, properties={"a": "b"})),
        False,
    ),
}


@pytest.mark.parametrize(("commits", "edit", "is_accepted"), HISTORIES.values(), ids=HISTORIES)
def test_the_history_in_git_decides(repository: Repository, commits: list[Step], edit: Step, is_accepted: bool) -> None:  # noqa: FBT001
    commit(repository, *commits)
    edit(repository)
    paths = [
        path
        for path in ("registry.yaml", "policy.yaml", "prod", "a.yaml", "b.yaml", "b")
        if (repository.root / path).exists()
    ]
    every = results(repository, *paths).values()
    topics = [each for each in every if each["kind"] == "TopicSchema" and not each["isRemoved"]]
    assert [each["compatible"] for each in topics] == [is_accepted]


def test_merges_count_once_with_what_they_brought(repository: Repository) -> None:
    commit(repository, FIRST)
    repository.git("switch", "--quiet", "--create", "feature")
    commit(repository, LAST, NEXT)
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "Merge", "feature")
    assert results(repository)["created"]["comparedVersions"] == 2
    repository.write("a.yaml", topic(fields("id", "x=", "note=")))
    assert results(repository)["created"]["compatible"]


def test_an_unchanged_resource_is_counted_and_named_by_its_version(repository: Repository) -> None:
    commit(repository, FIRST)
    assert [(each["isUnchanged"], each["equalTo"]) for each in results(repository).values()] == [
        (True, 0),
        (True, None),
    ]
    done = check(repository, "--git", "main", "a.yaml")
    assert done.stdout.startswith("a.yaml: shop/created is unchanged: it is version 0\n")
    assert check(repository, "--git", "main", ".").stdout.startswith("2 resources: 2 unchanged\n")


@pytest.mark.parametrize("edit", UNJUDGED, ids=str)
def test_an_edit_that_needs_no_judgment_is_none(repository: Repository, edit: dict[str, Any]) -> None:
    commit(repository, everything(DELETING, version(H0)))
    repository.write("a.yaml", topic(H0, **edit))
    assert results(repository)["created"]["isUnchanged"]


def test_an_edit_to_the_deletion_policy_delete_is_refused_unless_the_policy_allows_it(repository: Repository) -> None:
    commit(repository, FIRST)
    repository.write("a.yaml", topic(H0, deletionPolicy="Delete"))
    [reason] = results(repository)["created"]["incompatibilities"]
    assert (reason["rule"], reason["path"]) == ("DELETION_POLICY_NOT_ALLOWED", "spec.deletionPolicy")


def test_a_mistake_for_several_versions_is_one_in_every_form_but_json(repository: Repository) -> None:
    commit(repository, RULES, *map(version, (fields("id"), fields("id", "a="), fields("id", "a=", "b="))))
    repository.write("a.yaml", topic(fields("id:string")))
    assert [each["schemaVersion"] for each in results(repository)["created"]["incompatibilities"]] == [2, 1, 0]
    text, github, junit = (
        check(repository, "--git", "main", "-o", form, ".").stdout for form in ("text", "github", "junit")
    )
    [annotation] = [line for line in github.splitlines() if line.startswith("::error")]
    assert [each.count("TYPE_MISMATCH at") for each in (text, junit)] == [1, 1]
    for each in (text, annotation.replace("%0A", " "), junit):
        words = " ".join(each.split())
        assert "BACKWARD: consumers with the candidate must read messages of versions 0 to 2." in words
        assert "To do: keep the earlier type, or put the new one into a field of another name" in words


def test_a_changed_type_is_shown_at_its_field(repository: Repository) -> None:
    commit(repository, FIRST)
    repository.write("a.yaml", topic(H0, type="JSON"))
    assert results(repository)["created"]["incompatibilities"][0]["line"] == 6
    text = check(repository, "--git", "main", ".").stdout
    assert "TYPE_CHANGED at spec.type\n" in text
    assert '\n  6 |   type: "JSON"\n' in text
    assert "To do: keep the type, or use another topic." in text


def test_each_pulsar_version_is_named_with_what_it_judged(repository: Repository) -> None:
    repository.write("policy.yaml", policy(), registry("4.0"))
    repository.write("a.yaml", topic(H1, "unchanged"))
    repository.commit()
    elsewhere = [topic(H1, f"t{number}", topic=f"persistent://shop/other/t{number}") for number in range(5)]
    repository.write("b.yaml", topic(H1, "new"), *elsewhere)
    assert check(repository, "--git", "main", ".").stdout.splitlines()[-2:] == [
        "Judged by the rules of Pulsar 4.0: shop/new.",
        f"Judged by the rules of Pulsar {NEWEST}: shop/t0, shop/t1, shop/t2 and 2 more.",
    ]
    (repository.root / "b.yaml").unlink()
    repository.write("a.yaml", topic(H0, "unchanged"))
    assert check(repository, "--git", "main", ".").stdout.endswith("\nJudged by the rules of Pulsar 4.0.\n")


def test_the_registry_of_the_ref_judges_unless_a_file_has_another(repository: Repository) -> None:
    dollar = H1.replace("Order", "Order$")  # a name that Pulsar 4.0 refuses
    repository.write("platform/registry.yaml", registry("4.0"))
    repository.write("shop/policy.yaml", policy())
    repository.commit()
    repository.write("shop/a.yaml", topic(dollar))
    assert not results(repository, "shop")["created"]["compatible"]
    repository.write("platform/registry.yaml", registry("4.1"))
    assert results(repository)["created"]["compatible"]
    assert not results(repository, "shop")["created"]["compatible"]


def test_a_registry_is_unchanged_changed_or_removed(repository: Repository) -> None:
    repository.write("registry.yaml", registry("4.0"))
    repository.write("policy.yaml", policy())
    repository.commit()
    assert results(repository)["prod"]["isUnchanged"]
    repository.write("registry.yaml", registry("4.1"))
    assert not results(repository)["prod"]["isUnchanged"]
    (repository.root / "registry.yaml").unlink()
    (warning,) = results(repository)["prod"]["warnings"]
    assert (warning["rule"], "policies of registry prod stop" in warning["message"]) == ("ResourceRemoved", True)


def test_what_could_not_be_read_is_counted(repository: Repository) -> None:
    commit(repository, FIRST)
    repository.write("b.yaml", topic(H1, "b", topic="b"))
    for arguments, total in ((["."], "2 resources: 2 unchanged"), (["a.yaml", "b.yaml"], "1 resource: 1 unchanged")):
        done = check(repository, "--git", "main", *arguments)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (2, f"{total}; 1 could not be read")


def test_without_a_policy_among_the_files_that_of_the_ref_judges(repository: Repository) -> None:
    commit(repository, FIRST)
    repository.write("a.yaml", topic(H2))
    result = results(repository, "a.yaml")["created"]
    assert (result["policy"], result["strategy"], result["compatible"]) == ("orders", "BACKWARD_TRANSITIVE", False)


def test_a_changed_policy_names_the_topics_that_it_would_refuse(repository: Repository) -> None:
    repository.write("policy.yaml", policy(schemaCompatibilityStrategy="BACKWARD"))
    repository.write("a.yaml", topic(H1), topic(H1, "second"))
    repository.commit()
    repository.write("a.yaml", topic(fields("x=")), topic(H1, "second"))
    repository.commit()
    repository.write("policy.yaml", policy(schemaCompatibilityStrategy="FULL"))
    edited = results(repository)
    [warning] = edited["orders"]["warnings"]
    assert (warning["rule"], warning["line"]) == ("FIELD_WITHOUT_DEFAULT", 7)
    assert warning["path"] == "spec.schemaCompatibilityStrategy"
    assert warning["message"].startswith("TopicSchema created at $ after version 0: ")
    assert all(each["compatible"] for each in edited.values())
    text = check(repository, "--git", "main", ".").stdout
    assert "1 of 2 topics would not pass under it" in " ".join(text.split())


def test_a_policy_that_is_only_in_git_is_named_too(repository: Repository) -> None:
    commit(repository, FIRST)
    repository.write("b.yaml", topic(H0, "b", "bnak"))
    [warning] = results(repository, "b.yaml")["b"]["warnings"]
    assert warning["rule"] == "PolicyNotFound"
    assert "policy orders governs shop/orders in the Kubernetes namespace shop" in warning["message"]


SKIPPED = topic(H0, "skipped", deletionPolicy="Delete")
SKIPPED["metadata"]["annotations"] = {"topicschema.io/skip-broker-delete": "true"}
REMOVED = {
    "retained": (topic(H0, "retained"), "the operator and the broker keep the versions of"),
    "deleted": (topic(H0, "deleted", deletionPolicy="Delete"), "the operator deletes all versions of"),
    "suspended": (topic(H0, "suspended", deletionPolicy="Delete", suspend=True), "the operator and the broker keep"),
    "skipped": (SKIPPED, "the operator deletes its history of"),
    "orders": (policy(), "the webhook admits edits of topics in shop/orders unjudged"),
}


@pytest.mark.parametrize("name", REMOVED)
def test_a_removed_resource_is_named_with_what_its_deletion_does(repository: Repository, name: str) -> None:
    resource, words = REMOVED[name]
    repository.write("manifests/deep/gone.yaml", resource)
    repository.write("manifests/a.yaml", topic(H0))
    repository.commit()
    (repository.root / "manifests/deep/gone.yaml").unlink()
    edited = results(repository, "manifests")
    assert [each for each in edited if edited[each]["isRemoved"]] == [name]
    assert edited[name]["id"] == "manifests/deep/gone.yaml"
    [warning] = edited[name]["warnings"]
    assert warning["rule"] == "ResourceRemoved"
    assert warning["message"].startswith(f"if you delete it, {words}")
    text = " ".join(check(repository, "--git", "main", "manifests").stdout.split())
    assert f"shop/{name} is removed warning: ResourceRemoved: if you delete it, {words}" in text
    assert "2 resources: 1 unchanged, 1 removed" in text
    lines = check(repository, "--git", "main", "-o", "github", "manifests").stdout.splitlines()
    assert any(
        each.startswith("::warning file=manifests/deep/gone.yaml,line=3,") and f"shop/{name}: if you" in each
        for each in lines
    )


REMAIN: dict[str, Step] = {
    "moved": move("b/b.yaml", "b/c.yaml"),
    "outside": put("c.yaml"),
    "hidden": put("b/.hidden/e.yaml"),
    "another resource of the file": put("b/b.yaml", topic(H0, "b"), topic(H0, "new")),
}


@pytest.mark.parametrize("name", REMAIN)
def test_what_is_elsewhere_is_not_removed(repository: Repository, name: str) -> None:
    repository.write("b/b.yaml", topic(H0, "b"))
    repository.write("c.yaml", topic(H0, "c"))
    repository.write("b/.hidden/e.yaml", topic(H0, "e"))
    repository.write("b/never.yaml", topic(H0, "never", topic="no topic"))
    repository.commit()
    (repository.root / "b/never.yaml").unlink()
    REMAIN[name](repository)
    assert not any(each["isRemoved"] for each in results(repository, "b").values())


def test_a_resource_that_cannot_be_read_is_not_removed(repository: Repository) -> None:
    repository.write("a.yaml", topic(H0), topic(H0, "b"))
    repository.commit()
    repository.write("a.yaml", topic(H0), topic(H0, "b", nonsense=1))
    done = check(repository, "--git", "main", "-o", "json", ".")
    assert done.returncode == 2
    assert [each["name"] for each in json.loads(done.stdout)["results"]] == ["created"]


def test_the_history_of_standard_input_is_that_of_its_topic(repository: Repository) -> None:
    commit(repository, FIRST, NEXT)
    new = topic(H1, "new")
    done = check(repository, "--git", "main", "-", stdin=in_yaml(policy(), topic(ADDED), new))
    assert done.returncode == 1
    assert "standard input: shop/created is incompatible under BACKWARD_TRANSITIVE" in " ".join(done.stdout.split())
    assert "it would be version 0, the first" in " ".join(done.stdout.split())


WRONG = {
    "an unknown commit": (["--git", "nowhere", "a.yaml"], "", "Git has no commit 'nowhere' here; fetch it"),
    "an empty name": (["--git", "", "a.yaml"], "", "--git has an empty REF: is a variable unset?"),
    "a schema's file": (["--git", "main", "v1.avsc"], "", "--git is for manifests, and v1.avsc is none"),
    "what kustomize made": (["--git", "main", "-"], in_yaml(topic(H1, "rendered")), "use --live"),
    "a file elsewhere": (["--git", "main", "a.yaml", "../elsewhere.yaml"], "", "is not in the repository"),
    "a history beside it": (["--git", "main", "--history", "v1.avsc", "a.yaml"], "", "--git has the history"),
}


@pytest.mark.parametrize(("arguments", "stdin", "words"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_an_error_with_its_reason(
    repository: Repository, arguments: list[str], stdin: str, words: str
) -> None:
    commit(repository, FIRST)
    (repository.root / "v1.avsc").write_text(H0)
    (repository.root.parent / "elsewhere.yaml").write_text(in_yaml(topic(H0, "elsewhere")))
    done = check(repository, *arguments, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_shallow_clone_is_refused_with_the_remedy(repository: Repository, tmp_path: Path) -> None:
    commit(repository, FIRST, NEXT)
    repository.git("clone", "--quiet", "--depth=1", repository.root.as_uri(), str(tmp_path / "shallow"))
    done = check(Repository(tmp_path / "shallow"), "--git", "main", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the clone is shallow" in done.stderr
    assert "fetch-depth: 0" in done.stderr
    shutil.rmtree(tmp_path / "shallow" / ".git")
    assert "not a git repository" in check(Repository(tmp_path / "shallow"), "--git", "main", ".").stderr


def on_one_processor() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def test_several_processes_answer_as_one_does(repository: Repository) -> None:
    texts = [H0, "{}", H1, H2]
    pair = {"encoding": "INLINE", "key": {"type": "STRING"}, "value": {"type": "INT8"}}
    others = [topic("", "pair", type="KEY_VALUE", keyValue=pair), topic("{}", "wrong1"), topic("{}", "wrong2")]
    for shift, strategy in enumerate(("ALWAYS_COMPATIBLE", "ALWAYS_COMPATIBLE", "FULL")):
        topics = [topic(texts[(number + shift) % 4], f"topic{number}") for number in range(100)]
        resources = [policy(schemaCompatibilityStrategy=strategy), *topics, *others]
        repository.write("a.yaml", *resources)
        if shift < 2:
            repository.commit()
    for arguments, code, words in (
        (["-o", "json", "a.yaml"], 1, "TopicSchema topic2 at "),
        (["-"], 2, "no text of shop/wrong1 in Git"),
    ):
        command = [sys.executable, "-m", "topicschema", "check", "--git", "main", *arguments]
        one, several = (
            subprocess.run(
                command,
                cwd=repository.root,
                input=in_yaml(*resources),
                capture_output=True,
                text=True,
                preexec_fn=first,
                check=False,
            )
            for first in (on_one_processor, None)
        )
        assert (several.returncode, several.stdout, several.stderr) == (code, one.stdout, one.stderr)
        assert words in one.stdout + one.stderr
