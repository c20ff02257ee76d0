"""Intent: who exists, what they may have, what they ask for, what was decided."""
