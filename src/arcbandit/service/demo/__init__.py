"""A film platform with visitors who never tire, to see the service at work."""
