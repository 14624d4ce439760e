"""Graph algorithms for schemas: cycles, strongly connected components, traits, and recursion without the call stack."""
