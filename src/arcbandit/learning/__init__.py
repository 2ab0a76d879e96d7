"""The benchmark of learning: families of instances, what policies lose on them, and what that shows."""
