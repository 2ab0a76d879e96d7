"""Every check of what users give: single values, arrays of numbers or flags, and frames with labels."""
