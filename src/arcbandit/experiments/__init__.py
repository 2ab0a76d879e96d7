"""The paper's instances, figures and claims, as data."""
