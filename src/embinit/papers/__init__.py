"""The papers whose findings are tested: their experiments and families of claims."""
