"""The run of a validation in its pod: the driver, its processes or Spark executors, judging and sampling."""
