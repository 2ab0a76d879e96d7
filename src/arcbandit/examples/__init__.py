"""Examples on real data: `films` and `open_bandit`, each with its page in docs/, and the files that they read."""
