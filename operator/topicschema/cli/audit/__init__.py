"""Parts of `topicschema audit`."""
