"""The embedded corpus: parallel text with gold annotation from a small synchronous grammar.

A meaning is drawn (``sampler``), and each language (``languages/``, words in ``lexicon/``)
expresses it, so alignments, parts of speech, trees and entities are exact. Text is tokenised
(punctuation marks are words), sentences begin in lower case, and Chinese has no spaces.
"""

from fairseq_xling.corpus.realiser import LANGUAGES

__all__ = ["LANGUAGES"]
