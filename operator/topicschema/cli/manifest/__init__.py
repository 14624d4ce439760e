"""Parts of `topicschema manifest`: the resource as YAML, and the layout of JSON in it."""
