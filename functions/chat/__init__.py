"""conversation → plan → passages → checked answer, as a stream of events."""
