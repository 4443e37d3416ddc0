"""Studies of embinit's own: a folder each, with experiments, claims, lock, analysis and page."""
