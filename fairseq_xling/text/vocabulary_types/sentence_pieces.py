"""The model types of sentencepiece."""

import functools

from fairseq_xling.text.pieces import learn_pieces
from fairseq_xling.text.vocabulary_types import VocabularyType, vocabulary_types

for _kind, _whole_words in (("bpe", False), ("unigram", False), ("word", True)):
    _learn = functools.partial(learn_pieces, kind=_kind, whole_words=_whole_words)
    vocabulary_types.register(_kind)(VocabularyType(_learn, _whole_words))
