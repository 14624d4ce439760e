"""Resolution: the data of a writer's schema that a reader's schema can read, and the findings."""
