"""Tables: inits, positions, diagnostics, and a run's initial tables."""
