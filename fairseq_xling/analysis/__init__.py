"""Measures on hidden states: pure tensor functions, no fairseq import."""
