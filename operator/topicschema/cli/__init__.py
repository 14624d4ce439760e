"""The command `topicschema`: the operator's processes, and the same judgement for people and CI.

Each command is a module that is imported only when it runs, so that `check` in a CI job starts without kopf, aiohttp or
Kubernetes. See `arguments` for the commands and their options.
"""
