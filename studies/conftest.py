"""``pytest studies/`` runs the claims; ``pytest studies/tests`` tests the code of the studies."""

collect_ignore = ["tests"]
