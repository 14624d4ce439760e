"""Generated messages of schemas, whole and broken."""
