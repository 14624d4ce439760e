"""Apache Pulsar topic schemas as Kubernetes resources."""

__version__ = "0.1.0"
