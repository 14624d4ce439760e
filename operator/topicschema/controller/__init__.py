"""The controller process. kopf watches and enqueues keys; `reconcile` reconciles them."""
