"""The page of a reproduction: a story first, then the experiments, the claims and a checklist."""
