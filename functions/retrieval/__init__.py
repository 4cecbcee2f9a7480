"""question → passages: one to five queries in one search, with a verdict for each."""
