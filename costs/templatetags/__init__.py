"""Tags of the pages of costs."""
