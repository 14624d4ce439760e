"""Topics and files with messages, and the runs that check them."""
