"""One sequence of vectors for a sentence and its translation: transform, extract, reorder (CLCR).

The mathematics here never imports fairseq.
"""
