"""Work queue, scheduling, events and conditions: what a controller needs whatever it reconciles."""
