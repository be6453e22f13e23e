"""CLCR without its models: pivots, sequences of vectors, and what is learnt on them.

The mathematics here never imports fairseq.
"""
