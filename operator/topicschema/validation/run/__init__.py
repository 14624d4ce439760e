"""Run of a validation in its pod: the driver, its processes or Spark executors, validation of batches and sampling."""
