"""What changes intent: each function is one step of the business, with its audit row."""
