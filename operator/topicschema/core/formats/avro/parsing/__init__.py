"""Parsing: from the text of a schema to the model, by the rules of each Avro version."""
