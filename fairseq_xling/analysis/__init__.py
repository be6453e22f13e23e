"""Measures on hidden states, and the vectors they are compared with."""
