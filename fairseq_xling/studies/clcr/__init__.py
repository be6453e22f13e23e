"""`clcr run`: from two encoders and text to sequences of vectors."""
