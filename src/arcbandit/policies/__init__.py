"""Memory between rounds: one file for each algorithm, one compiled switch over their rules."""
