"""Apache Pulsar topic schemas as Kubernetes resources."""
