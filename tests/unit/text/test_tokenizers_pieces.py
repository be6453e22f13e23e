"""A ready tokenizer cuts text in a data folder exactly as it does elsewhere."""

import json
import re

import numpy as np
import pytest
import tokenizers
from fairseq.data import Dictionary

from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SEP, UNK, DataFolder
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.tokenizers.pieces import TokenizerPieces, ready_tokenizer
from tests.tiny_sources import write_tokenizer, write_vocabulary

LINES = ["Word3 word1s, word2", "", "word7 else word7s word1 word2 word3 word4 word5 word6"]
SPACES = "\x0b \x0c \x1c \x1f \x85 \xa0 \u1680 \u2003 \u200b \u2028 \u202f \u3000".split(" ")


@pytest.fixture
def bert(tmp_path):
    """A folder with BERT's vocabulary and tokenizer."""
    folder = tmp_path / "bert"
    folder.mkdir()
    write_vocabulary(folder, "bert")
    write_tokenizer(folder)
    return folder


def prepare(tmp_path, *options) -> TextEncoder:
    assert main(["prepare", str(tmp_path / "data"), "--languages", "en", *options]) == 0
    return TextEncoder.load(tmp_path / "data", "en")


def test_ids_stand_for_the_tokenizers_own_tokens_whatever_the_length(bert, tmp_path):
    encoder = prepare(tmp_path, "--tokenizer", f"en={bert}", "--segment", "en=basic")
    tokenizer = write_tokenizer(bert)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    lines = [*LINES, *(f"word1{space}word2 word3{space} {space} word4" for space in SPACES)]
    for line, ids in zip(lines, encoder.encode(lines), strict=True):
        tokens = tokenizer.encode(line, add_special_tokens=False).tokens
        ours = [encoder._texts[i].replace("▁<unk>", "[UNK]") for i in ids[:-1]]
        spelt = [t[2:] if t.startswith("##") else f"▁{t}".replace("▁[", "[") for t in tokens]
        assert ours == spelt and ids[-1] == SEP


def test_words_are_counted_as_the_basic_segmentation_counts_them(bert, tmp_path):
    encoder = prepare(tmp_path, "--tokenizer", f"en={bert}", "--segment", "en=basic")
    for line, ids in zip(LINES, encoder.encode(LINES), strict=True):
        words = encoder.segment([line])[0].split()
        assert encoder.starts_word(ids).sum() == len(words)
    (ids,) = encoder.encode(["word1 else word2s"])
    assert ids[1] == UNK and encoder.decode(ids) == "word1 <unk> word2s"
    assert encoder.surfaces(["Word1 else word2s"]) == [["Word1", "else", "word2", "s"]]


def changed(bert, **parts):
    """The tokenizer's file, with other ``parts``."""
    file = bert / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | parts))
    return file


@pytest.mark.parametrize("charsmap", ["AAAA", "", "BAAAAP////9hAA=="])
def test_a_damaged_normaliser_is_one_line(bert, charsmap, capfd):
    damaged = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    file = changed(bert, normalizer=damaged)
    with pytest.raises(UserError, match=f"^{re.escape(str(file))}: not a tokenizer in a known"):
        ready_tokenizer(file)
    assert capfd.readouterr() == ("", "")


def test_a_normaliser_that_doubles_text_often_is_refused(bert):
    twice = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
    nine, many = ({"type": "Sequence", "normalizers": [twice] * count} for count in (9, 34))
    assert ready_tokenizer(changed(bert, normalizer=nine))
    with pytest.raises(UserError, match="`normalizer` must make text at most 1000 times as long"):
        ready_tokenizer(changed(bert, normalizer=many))


def test_what_a_tokenizer_does_to_sentences_is_not_done(bert):
    """Padding to so many tokens would take all memory."""
    padding = json.loads((bert / "tokenizer.json").read_text())["padding"]
    padding |= {"strategy": {"Fixed": 1 << 40}}
    file = changed(bert, padding=padding)
    kept = json.loads(ready_tokenizer(file))
    assert kept["tokenizer"]["padding"] is None
    kept["tokenizer"] |= {"padding": padding}  # in a data folder from elsewhere
    assert len(TokenizerPieces(kept, file).encode(["word1"])[0]) == 1


def test_pieces_are_not_drawn_by_chance(tmp_path):
    merged = tokenizers.models.BPE({"[UNK]": 0, "a": 1, "aa": 2}, [("a", "a")], dropout=0.999)
    content = json.loads(tokenizers.Tokenizer(merged).to_str())
    kept = {"symbols": ["<unk>", "a", "aa"], "tokenizer": content}
    assert TokenizerPieces(kept, tmp_path).encode(["aa"] * 9)[0].tolist() == [2] * 9


@pytest.mark.parametrize("kind", ["bpe", "word", "imported"])
def test_the_vocabulary_of_a_data_folder_is_taken_with_its_ids(bert, tmp_path, kind):
    text, data = tmp_path / "text", str(tmp_path / "data")
    text.write_text("word1 word2s word3\nword3 word1\n")
    how = ["--tokenizer", f"en={bert}"] if kind == "imported" else ["--vocab-type", kind]
    prepare(tmp_path, "--mono", f"train.en={text}", "--vocab-size", "30", *how)
    other = tmp_path / "other"
    (tmp_path / "more").write_text("word3 word9\n")
    again = ["prepare", str(other), "--languages", "de", "--mono", f"train.de={tmp_path / 'more'}"]
    again += ["--tokenizer", f"de={data}"]
    assert main([*again, *(how if kind == "word" else [])]) == 0
    one, two = TextEncoder.load(data, "en"), TextEncoder.load(other, "de")
    assert one._texts == two._texts
    for first, second in zip(one.encode(LINES), two.encode(LINES), strict=True):
        assert first.tolist() == second.tolist()


def test_a_data_folders_vocabulary_is_of_one_type(tmp_path, capsys):
    text = tmp_path / "text"
    text.write_text("a b\nb a\n")
    prepare(tmp_path, "--mono", f"train.en={text}", "--vocab-type", "word")
    data = tmp_path / "data"
    again = ["prepare", str(tmp_path / "other"), "--languages", "en", "--tokenizer", f"en={data}"]
    assert main(again) == 1
    line = f"`--vocab-type` must be word, as in {data}, got bpe"
    assert line in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_every_symbol_but_the_special_ones_is_in_the_dictionary(bert, tmp_path):
    prepare(tmp_path, "--tokenizer", f"en={bert}")
    assert DataFolder(tmp_path / "data").vocab_sizes == {"en": 6 + 15}


def test_text_is_binarised_beside_a_learnt_vocabulary(bert, tmp_path):
    text = tmp_path / "text"
    text.write_text("word1 word2s\nword3\n" * 20)
    options = [f"--mono=train.{lang}={text}" for lang in ("en", "de")]
    options += ["--vocab", "separate", "--vocab-size", "20", "--tokenizer", f"en={bert}"]
    assert main(["prepare", str(tmp_path / "data"), "--languages", "en,de", *options]) == 0
    folder = DataFolder(tmp_path / "data")
    english = TextEncoder.load(folder.path, "en")
    assert np.array_equal(folder.mono("train", "en")[0], english.encode(["word1 word2s"])[0])
    assert (folder.path / "tokenizer.en.json").is_file()
    assert (folder.path / "sentencepiece.de.model").is_file()
    counts = dict(line.split() for line in folder.dictionary_path("en").read_text().splitlines())
    assert counts["▁word1"] == "20" and counts["▁word5"] == "0"


@pytest.mark.parametrize("known", [True, False])
def test_bytes_as_letters_are_cut_as_learnt(tmp_path, known):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    letters = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.pre_tokenizer = letters
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=290, special_tokens=special, initial_alphabet=letters.alphabet()
    )
    tokenizer.train_from_iterator(["the dogs and the dog ran"] * 9, trainer)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    encoder = prepare(tmp_path, "--tokenizer", f"en={tmp_path}")
    line = "the dogs ran" if known else "über dogs"
    (ids,) = encoder.encode([line])
    assert len(ids) - 1 == len(tokenizer.encode(line).ids)
    assert UNK not in ids and encoder.starts_word(ids).sum() == len(line.split())
    assert encoder.decode(ids) == line if known else "dogs" in encoder.decode(ids)
    # The bytes of line ends are letters, too: they must not break the dictionary's lines.
    assert len(Dictionary.load(str(tmp_path / "data" / "dict.txt"))) == encoder.vocab_size


def test_a_folder_that_cannot_be_used_is_refused(bert, tmp_path, capsys):
    (tmp_path / "text").write_text("word1\n")
    own, german = f"--tokenizer=en={bert}", f"--mono=train.de={tmp_path / 'text'}"
    for options, message in (
        (["en", f"--tokenizer=en={tmp_path}"], "tokenizer.json: no such file"),
        (["en,de", own], "no training text of language 'de'"),
        (["en,de", own, german], "`--tokenizer` must be one and the same for en, de"),
    ):
        assert main(["prepare", str(tmp_path / "data"), "--languages", *options]) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
    with pytest.raises(UserError, match=re.escape("save_pretrained")):
        ready_tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text('{"model": {}}')
    with pytest.raises(UserError, match="not a tokenizer in a known format"):
        ready_tokenizer(tmp_path / "tokenizer.json")
