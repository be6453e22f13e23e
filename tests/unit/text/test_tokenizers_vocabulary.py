"""Whatever file a vocabulary is in, its symbols come out in the project's own spelling."""

import gzip
import io
import json
import re

import pytest
import sentencepiece
import tokenizers

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SPECIALS, read_dictionary
from fairseq_xling.text.tokenizers.vocabulary import BERT_SPECIALS as BERT
from fairseq_xling.text.tokenizers.vocabulary import ROBERTA_SPECIALS as FAIRSEQ
from fairseq_xling.text.tokenizers.vocabulary import (
    as_is,
    byte_level,
    read_vocabulary,
    spell,
    word_end,
    wordpiece,
)
from fairseq_xling.text.vocabularies import write_dictionary
from tests.tiny_sources import write_vocabulary

XLM = FAIRSEQ | {"cls": "</s>", "mask": "<special1>"}


def put_tokenizer(path, model, **content) -> None:
    (path / "tokenizer.json").write_text(json.dumps({"model": model, **content}))


@pytest.mark.parametrize(
    ("family", "specials", "ids", "spelt"),
    [
        ("bert", BERT, [2, 0, 3, 1, 4], {0: "<pad> <unk> <s> </s> <mask> ▁word0", 19: "s"}),
        ("roberta", FAIRSEQ, [0, 1, 2, 3, 19], {3: "<unk> ▁word0 ▁word1", 18: "s <mask>"}),
        # Which begins a sentence with its separator.
        ("xlm", XLM, [1, 2, 1, 3, 5], {0: "<s><0> </s> <pad> <unk> <special0> <mask> ▁word0"}),
    ],
)
def test_a_familys_vocabulary_is_spelt_as_ours(tmp_path, family, specials, ids, spelt):
    write_vocabulary(tmp_path, family)
    symbols, special_ids = read_vocabulary(tmp_path, 20, specials)
    assert special_ids == dict(zip(("cls", "pad", "sep", "unk", "mask"), ids, strict=True))
    for start, text in spelt.items():
        assert " ".join(symbols[start:]).startswith(text)


@pytest.mark.parametrize(
    ("family", "first", "own", "cls"), [("xlm-roberta", 3, 4, 0), ("camembert", 1, 5, 5)]
)
def test_pieces_of_a_sentencepiece_model_are_numbered_as_fairseq_does(
    family, first, own, cls, tmp_path
):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}))
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the dogs run", "the dog ran", "a dog and dogs"] * 20),
        model_writer=model,
        model_type="bpe",
        vocab_size=25,
        minloglevel=2,
    )
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model.getvalue())
    size = 25 - first + own + 1
    symbols, special_ids = read_vocabulary(tmp_path, size, FAIRSEQ)
    sep = 2 if cls == 0 else 6
    assert special_ids == {"cls": cls, "pad": 1, "sep": sep, "unk": 3, "mask": size - 1}
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    for piece in processor.encode("the dogs ran", out_type=str):
        assert symbols[processor.piece_to_id(piece) - first + own] == piece


def test_a_vocabulary_much_smaller_than_the_embeddings_is_of_another_model(tmp_path):
    write_vocabulary(tmp_path, "bert")
    assert len(read_vocabulary(tmp_path, 148, BERT)[0]) == 148
    line = "must have a token for each of the 149 rows of the embeddings, of which at most 128 may"
    with pytest.raises(UserError, match=f"^{tmp_path}/vocab.txt: {line} be padding, got 20; put"):
        read_vocabulary(tmp_path, 149, BERT)
    with pytest.raises(UserError, match="of which at most 1000 may be padding, got 20"):
        read_vocabulary(tmp_path, 100_000, BERT)


def test_our_null_keeps_its_name_and_no_word_has_that_of_a_special_symbol(tmp_path):
    ids = {token: number for number, token in enumerate([*BERT.values(), "##<s>", "<null>"])}
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    symbols, special_ids = read_vocabulary(tmp_path, 7, BERT)
    assert special_ids["null"] == 6 and symbols[6] == "<null>"
    assert len(set(symbols)) == 7 and symbols[special_ids["cls"]] == "<s>"


@pytest.mark.parametrize(
    ("model", "content", "expected"),
    [
        ({"type": "WordPiece"}, {}, ["▁a", "▁##", "▁Ġb"]),
        ({"type": "BPE"}, {"pre_tokenizer": {"type": "ByteLevel"}}, ["a", "##", "▁b"]),
        (
            {"type": "BPE"},
            {"decoder": {"type": "Sequence", "decoders": [{"type": "ByteLevel"}]}},
            ["a", "##", "▁b"],
        ),
        ({"type": "BPE"}, {}, ["a", "##", "Ġb"]),
    ],
)
def test_where_only_a_tokenizer_file_is_there_its_own_model_tells_the_spelling(
    model, content, expected, tmp_path
):
    vocab = {"a": 2, "##": 3, "Ġb": 4}
    names = {"<s>": 0, "<pad>": 1, "</s>": 5, "<unk>": 6, "<mask>": 7}
    added = [{"content": token, "id": number} for token, number in names.items()]
    put_tokenizer(tmp_path, {**model, "vocab": vocab}, added_tokens=added, **content)
    symbols, special_ids = read_vocabulary(tmp_path, 8, FAIRSEQ)
    assert symbols == ["<s>", "<pad>", *expected, "</s>", "<unk>", "<mask>"]
    assert special_ids == {"cls": 0, "pad": 1, "sep": 5, "unk": 6, "mask": 7}


def test_a_unigram_tokenizer_and_one_with_word_ends(tmp_path):
    pieces = [[token, 0.0] for token in (*FAIRSEQ.values(), "▁a")]
    put_tokenizer(tmp_path, {"type": "Unigram", "vocab": pieces})
    assert read_vocabulary(tmp_path, 6, FAIRSEQ)[0][5] == "▁a"
    vocab = {token: n for n, token in enumerate((*FAIRSEQ.values(), "a</w>", "b"))}
    put_tokenizer(tmp_path, {"type": "BPE", "vocab": vocab, "end_of_word_suffix": "</w>"})
    assert read_vocabulary(tmp_path, 7, FAIRSEQ)[0][5:] == ["▁a", "b"]


def test_the_folder_may_name_its_special_tokens_and_add_some(tmp_path):
    write_vocabulary(tmp_path, "bert")
    (tmp_path / "special_tokens_map.json").write_text(
        json.dumps({"cls_token": "word0", "mask_token": {"content": "<m>"}})
    )
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<m>": 20}))
    symbols, special_ids = read_vocabulary(tmp_path, 22, BERT)
    assert special_ids == {"pad": 0, "unk": 1, "cls": 5, "sep": 3, "mask": 20}
    assert symbols[5] == "<s>" and symbols[20] == "<mask>"
    assert symbols[21] == "<unused21>"  # a row of the table that no token has


def test_letters_of_byte_level_pieces_are_those_of_the_published_tokenizer():
    splitter = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert all(len(byte_level(letter)) for letter in splitter.alphabet())
    text = "naïve 世界 \x07 tabs\tand 🙂 «ß»"
    pieces = "".join(piece for piece, _ in splitter.pre_tokenize_str(text))
    assert byte_level(pieces) == "▁" + text.replace(" ", "▁")
    stray = {byte_level(letter) for letter in splitter.alphabet()}
    assert len(stray) == 256 and "<0xE4>" in stray and "<0xFF>" in stray


def test_symbols_are_all_different_and_placeholders_stay_as_they_are():
    assert spell(["a", "##a", "▁a", "[unused3]"], wordpiece, {}) == ["▁a", "a", "▁▁a", "[unused3]"]
    # The letter for the mark itself, and the mark: spelt alike, so the later keeps its own form.
    assert spell(["Ġ", "âĸģ"], byte_level, {}) == ["▁", "âĸģ"]
    assert spell(["a</w>", "▁a"], word_end, {}) == ["▁a", "▁a<1>"]
    assert spell(["<s>", "[CLS]"], as_is, {"[CLS]": "<s>"}) == ["<s><0>", "<s>"]


def test_a_dictionary_holds_every_character_as_a_symbol(tmp_path):
    characters = [chr(number) for number in range(0x10000)]
    pairs = [first + second for first in "\t \x85\ufeff" for second in "\t \x85\ufeffa"]
    for how in (as_is, wordpiece, word_end, byte_level):
        symbols = spell([*characters, *pairs], how, {})
        assert len(symbols) == len(set(symbols)) == len(characters) + len(pairs)
        write_dictionary(tmp_path / "dict.txt", dict.fromkeys(symbols, 0))
        assert read_dictionary(tmp_path / "dict.txt")[SPECIALS:] == symbols


@pytest.mark.parametrize(
    ("files", "size", "message"),
    [
        (
            {"vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n"},
            20,
            "vocab.txt: has no mask token '[MASK]'",
        ),
        ({"vocab.json": "[1, 2]"}, 20, "vocab.json: not a vocabulary in a known format"),
        (
            {"vocab.json": '{"[MASK]": 1}', "added_tokens.json": '{"[CLS]": "x"}'},
            *(20, "added_tokens.json: must give a number to each token"),
        ),
        ({"vocab.json": "{}"}, 10**9, "FAIRSEQ_XLING_BOUNDS=ids=N raises the bound"),
        (
            {"sentencepiece.bpe.model": "nothing"},
            *(20, "sentencepiece.bpe.model: damaged or not a sentencepiece model"),
        ),
        (
            {"tokenizer.json": '{"model": {"type": "BPE"}}'},
            *(20, "tokenizer.json: not a vocabulary in a known format"),
        ),
    ],
)
def test_bad_vocabularies_are_named(tmp_path, files, size, message):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=f"{re.escape(message)}$"):
        read_vocabulary(tmp_path, size, BERT)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda ids: ids, ""),
        (lambda ids: {**ids, "[NEW]": 20}, ""),  # as `add_tokens` of transformers leaves it
        (
            lambda ids: {**ids, "word0": ids["word1"], "word1": ids["word0"]},
            "got 'word0' as number",
        ),
        (lambda ids: {**ids, "[NEW]": ids["word1"]}, "got '[NEW]' as number 6, there 'word1'"),
        (lambda ids: {token: number + 1 for token, number in ids.items()}, "got '[PAD]' as"),
        (lambda ids: {**ids, "[NEW]": 700}, "ids must lie below the config's `vocab_size`"),
    ],
)
def test_two_vocabularies_in_a_folder_must_be_one(change, message, tmp_path):
    """Text is cut by one of them, and weights are looked up by the other."""
    write_vocabulary(tmp_path, "bert")
    tokens = (tmp_path / "vocab.txt").read_text().splitlines()
    ids = change({token: number for number, token in enumerate(tokens)})
    put_tokenizer(tmp_path, {"type": "WordPiece", "vocab": ids})
    if not message:
        assert len(read_vocabulary(tmp_path, max(ids.values()) + 1, BERT)[0]) == len(ids)
        return
    with pytest.raises(UserError) as error:
        read_vocabulary(tmp_path, 30, BERT)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("[PAD]\n".encode("utf-16"), "is UTF-16, not UTF-8"),
        (gzip.compress(b"[PAD]\n"), "is packed by gzip"),
    ],
    ids=["UTF-16", "gzip"],
)
def test_a_published_list_of_words_that_is_no_plain_text_is_refused(data, said, tmp_path):
    (tmp_path / "vocab.txt").write_bytes(data)
    with pytest.raises(UserError, match=said):
        read_vocabulary(tmp_path, 20, BERT)
