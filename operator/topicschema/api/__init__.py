"""The custom resources on the wire: their types, how they are read and written, and the CRDs made from them.

The types here mirror the YAML, camelCase on the wire and snake_case here. What a value means is `core`'s matter.
"""

GROUP = "topicschema.io"
API_VERSION = "v1alpha1"
PULSAR_NAMESPACES_ANNOTATION = "topicschema.io/pulsar-namespaces"
FINALIZER = "topicschema.io/broker-delete"
SKIP_BROKER_DELETE_ANNOTATION = "topicschema.io/skip-broker-delete"
"""`true` on a TopicSchema that is being deleted lets it go without its broker: a person gives up."""
REVALIDATE_ANNOTATION = "topicschema.io/revalidate"
"""On a TopicSchema: each value that it has not had yet has its messages validated once more."""
