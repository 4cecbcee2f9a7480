"""page → chunk → enriched chunk → row: everything that feeds the table."""
