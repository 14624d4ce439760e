module topicschema.io/benchmarks

go 1.24.0
