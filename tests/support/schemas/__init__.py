"""Generated schemas, histories of real ones, and examples."""
