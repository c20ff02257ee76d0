"""Pages of costs."""
