"""Policies from outside arcbandit."""
