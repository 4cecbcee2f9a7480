"""Where pages come from: one module a kind, all yield `Page` or `Skipped`."""
