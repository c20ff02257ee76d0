"""Pages that join intent and effect."""
