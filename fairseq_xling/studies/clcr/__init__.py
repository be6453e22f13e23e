"""`clcr run`: from text to sequences of vectors."""
