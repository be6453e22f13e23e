"""The part of a batch that is of one language, as the tagger reads it.

B sentences, N words, T different words among them, C letters:

    lang      number of the language
    words     (B, N) rows of its table, 0 unknown        lengths  (B,)
    forms     (T, C) letters of the different words      form     (B, N) which of them a word is
    tag       (B, N) numbers of tags, where there are any
"""

from typing import Any

Part = dict[str, Any]
PAD, UNKNOWN, FIRST = 0, 1, 2  # numbers of letters
