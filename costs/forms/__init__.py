"""Forms of costs."""
