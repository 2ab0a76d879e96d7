"""Plots and pages from recorded results."""
