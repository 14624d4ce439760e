"""Work queue, schedule, event handlers and conditions for controllers of any kind."""
