"""Types of vocabularies (`--vocab-type`): how pieces are learnt from text, and kept in a file.

Those of sentencepiece, and WordPiece, BERT's vocabulary (Devlin et al. 2019), which TreLM uses
(Appendix A.5). Its words are those of BERT's cased tokenizer: every punctuation mark and Chinese
character is one. The library tokenizers learns the pieces; a word is split by taking the longest
piece that it begins with, again and again, and a word that cannot be split so is unknown as a
whole. The file is that of an imported tokenizer (`text.tokenizers.pieces`).
"""

import functools
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.extras import check_installed
from fairseq_xling.core.registry import Registry
from fairseq_xling.text.pieces import check_room, choose_alphabet, learn_pieces
from fairseq_xling.text.tokenizers.pieces import ready_name
from fairseq_xling.text.tokenizers.vocabulary import BERT_SPECIALS, SPECIAL_NAMES, spell, wordpiece


@dataclass(frozen=True)
class VocabularyType:
    """One type.

    Attributes:
        learn: ``learn(lines, size, alphabet, name)`` returns the content of a file that
            `text.tokenizers.pieces.load_pieces` reads, with at most ``size`` pieces and, if it is
            not None, ``alphabet`` different characters; ``name`` is for messages.
        whole_words: the pieces are the words of the text, and no word is split.
        file: that file's name, from the name of the mode's sentencepiece model.
        check: raises a UserError if what it needs is not installed.
    """

    learn: Callable[[Sequence[str], int, int | None, str], bytes]
    whole_words: bool = False
    file: Callable[[str], str] = str
    check: Callable[[], None] = lambda: None


vocabulary_types: Registry[VocabularyType] = Registry("vocabulary type")


for _kind, _whole_words in (("bpe", False), ("unigram", False), ("word", True)):
    _learn = functools.partial(learn_pieces, kind=_kind, whole_words=_whole_words)
    vocabulary_types.register(_kind)(VocabularyType(_learn, _whole_words))


INSIDE = "##"  # begins a piece that continues a word
# In the order of BERT's published vocabularies.
SPECIALS = [BERT_SPECIALS[kind] for kind in ("pad", "unk", "cls", "sep", "mask")]
_LONGEST = 100  # BERT does not split longer words


def learn_wordpiece(lines: Sequence[str], size: int, alphabet: int | None, name: str) -> bytes:
    """A tokenizer of at most ``size`` pieces besides the `SPECIALS`, with cased text.

    ``alphabet`` bounds the number of different characters, as `choose_alphabet`; words with a rarer
    one are unknown, so nothing is learnt from them.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    normalizer = normalizers.BertNormalizer(strip_accents=False, lowercase=False)
    splitter = pre_tokenizers.BertPreTokenizer()
    words = [
        [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(line))]
        for line in lines
    ]
    counts = Counter(chain.from_iterable(chain.from_iterable(words)))
    if not counts:
        raise UserError(f"{name}: no text to learn a vocabulary from")
    kept = set(choose_alphabet(counts, alphabet, size, name)[0])
    text = [[word for word in line if kept.issuperset(word)] for line in words]
    tokens = [*SPECIALS, *_learnt(text, size, name)]
    numbers, unknown = {token: k for k, token in enumerate(tokens)}, BERT_SPECIALS["unk"]
    model = models.WordPiece(numbers, unk_token=unknown, max_input_chars_per_word=_LONGEST)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.decoder = decoders.WordPiece()
    ours = {BERT_SPECIALS[kind]: SPECIAL_NAMES[kind] for kind in SPECIAL_NAMES}
    symbols = spell(tokens, wordpiece, ours)
    content = {"symbols": symbols, "tokenizer": json.loads(tokenizer.to_str())}
    return json.dumps(content, ensure_ascii=False).encode()


def _learnt(text: Sequence[Sequence[str]], size: int, name: str) -> list[str]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    first = {word[0] for line in text for word in line}
    later = {letter for line in text for word in line for letter in word[1:]}
    letters = [*sorted(first | later), *(INSIDE + letter for letter in sorted(later))]
    check_room(len(letters), size, name)
    tokenizer = Tokenizer(models.WordPiece(unk_token=BERT_SPECIALS["unk"]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    # The library numbers letters in the order of a hash table, which differs between processes, and
    # decides between equally frequent pairs by these numbers; so they are given to it in order.
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=letters, show_progress=False, min_frequency=0
    )
    tokenizer.train_from_iterator((" ".join(line) for line in text if line), trainer)
    numbers = tokenizer.get_vocab()
    return sorted(numbers, key=numbers.__getitem__)


_check = functools.partial(check_installed, "`--vocab-type wordpiece`", "tokenizers")
vocabulary_types.register("wordpiece")(VocabularyType(learn_wordpiece, False, ready_name, _check))
