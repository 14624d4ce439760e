#!/bin/sh
# Remove from the folder of packages $1 what a validation run never loads. This is Spark's machine learning, Hive, examples
# and scripts, native code for other systems, the operator's Kubernetes client, and the libraries' tests and headers.
set -eu
cd "$1"
rm -rf kubernetes pyarrow/include pyarrow/includes pyarrow/src pyarrow/*.pxd pyarrow/*flight*
find . -type d \( -name tests -o -name test \) -prune -exec rm -rf {} +
[ -d pyspark ] || exit 0
cd pyspark
rm -rf examples data licenses R sbin kubernetes yarn pandas ml mllib
cd jars
for jar in 'spark-mllib*' 'spark-graphx*' 'spark-hive*' 'spark-repl*' 'spark-yarn*' 'spark-connect_*' 'spark-pipelines*' \
  'hive-[!s]*' 'hive-s[!t]*' 'breeze*' 'spire*' 'cats-kernel*' 'algebra*' 'arpack*' 'blas*' 'lapack*' 'JTransforms*' \
  'derby*' 'datanucleus*' 'rocksdbjni*' 'netty-*osx*' 'netty-*windows*'; do
  rm -f $jar
done
