"""Tables: inits, positions, diagnostics, and what a run's tables start as."""
