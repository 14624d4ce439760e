"""A schema as a graph: cycles, strongly connected components, traits of a whole schema, recursion without a stack."""
