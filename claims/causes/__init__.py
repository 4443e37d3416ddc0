"""Claims on why wide tables cost; exploratory, of embinit."""
