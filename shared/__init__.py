"""What every function shares: records, the table, the models, settings, errors, trace and cost."""
