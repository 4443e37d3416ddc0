"""Claims on starts that may keep both meaning and position; exploratory, of embinit."""
