#!/bin/bash
# Run the driver of a Job (`driver ...` or `audit ...`), an executor, which Spark's driver starts with variables (`executor`),
# or any other command.
set -euo pipefail

spark_home() { python -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))'; }

# numba reads compiled code only from a writable folder, so it gets a copy.
export NUMBA_CACHE_DIR="${TMPDIR:-/tmp}/numba"
mkdir -p "$NUMBA_CACHE_DIR" && cp -r /opt/topicschema/numba/. "$NUMBA_CACHE_DIR" || unset NUMBA_CACHE_DIR

case "${1:-}" in
driver)
  shift
  exec python -m topicschema.validation.run.driver "$@"
  ;;
audit)
  shift
  exec python -m topicschema.spark.audit.driver "$@"
  ;;
executor)
  mapfile -t options < <(env | grep '^SPARK_JAVA_OPT_' | sort -t_ -k4 -n | sed 's/^[^=]*=//')
  exec java "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "${SPARK_CLASSPATH:-}:$(spark_home)/jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
  ;;
*)
  exec "$@"
  ;;
esac
