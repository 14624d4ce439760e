"""The use of a policy's exception: a version that the policy's own strategy would refuse."""

from dataclasses import replace

from topicschema.core import plan
from topicschema.core.policy import exception_note, used_exception
from topicschema.core.verdict import Candidate
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema.observe import Judged


async def note_of_use(ctx: ReconcileContext, judged: Judged, action: plan.Action) -> str:
    """Return the text of the Event about a version that `action` registers thanks to an exception, or ""."""
    loaded, verdict = judged.loaded, judged.verdict
    strategy = loaded.candidate.strategy
    if verdict is None or not isinstance(action, plan.Register | plan.Upload):
        return ""
    if used_exception(loaded.policy, strategy) is None:
        return ""
    candidate = Candidate(loaded.schema, replace(loaded.candidate.choices, strategy=None))
    without = await ctx.judge.judge(candidate, loaded.stored.history, loaded.policy)
    if without.is_compatible:
        return ""
    first, policy = without.incompatibilities[0], loaded.governing.resource.metadata.name
    return (
        f"version {verdict.schema_version} is one that {without.strategy.value} of policy {policy} refuses "
        f"({first.rule} at {first.path}): {exception_note(loaded.policy, strategy)}"
    )
