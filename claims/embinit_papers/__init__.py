"""Papers whose findings are claims: a folder each, with experiments, claims, lock and page."""
