"""Decisions over HTTP: durable before they are answered, rewards counted exactly once, plans that are proven."""
