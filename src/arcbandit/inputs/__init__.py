"""Every check of user input: single values, arrays of numbers or flags, and frames with labels."""
