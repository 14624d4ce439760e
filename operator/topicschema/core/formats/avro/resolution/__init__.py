"""Resolution: what a reader of one schema can read of what was written with another, and the findings."""
