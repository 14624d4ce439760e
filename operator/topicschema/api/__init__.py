"""The custom resources on the wire: their types, their conversion from and to JSON, and the CRDs made from them.

The types here mirror the YAML, in camelCase on the wire and in snake_case here. `core` interprets the values.
"""

GROUP = "topicschema.io"
API_VERSION = "v1alpha1"
FINALIZER = "topicschema.io/broker-delete"
SKIP_BROKER_DELETE_ANNOTATION = "topicschema.io/skip-broker-delete"
"""`true` on a TopicSchema that is being deleted ends its deletion without its broker: a user gives up."""
REVALIDATE_ANNOTATION = "topicschema.io/revalidate"
"""On a TopicSchema: each new value starts another validation of its messages."""
