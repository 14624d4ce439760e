"""The command `topicschema`: the operator's processes (run), and the same judgement for people and CI (ask).

Each command's work stands in a module that is imported when it is asked for: `check` in a CI job starts without kopf,
aiohttp or Kubernetes. What the commands and their options are is `arguments`' matter.
"""
