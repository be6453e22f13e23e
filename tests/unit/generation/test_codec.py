"""Text in and out of fairseq's programs, in every kind of vocabulary; references as text."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.data import Dictionary

from fairseq_xling.cli import main
from fairseq_xling.data.folder import PAD, SEP, UNK, DataFolder
from fairseq_xling.generation.codec import FolderCodec, RawReference, References, difference
from fairseq_xling.generation.dataset import Sentences, TranslationDataset

ENGLISH = ["a dog runs .", "the cat sees a dog .", "cats run .", "the dog sees the cats ."] * 6
GERMAN = ["ein Hund läuft .", "die Katze sieht einen Hund .", "Katzen laufen ."] * 8
CHINESE = ["狗在跑。", "猫看见一只狗。", "狗看见猫。", "猫在Berlin跑。"] * 6
TEXT = {"en": ENGLISH, "de": GERMAN, "zh": CHINESE}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """``prepared("union", "en", "de")``: a data folder, made once."""
    root = tmp_path_factory.mktemp("codec")
    made = {}

    def make(mode, *languages, kind="bpe", segment=()):
        key = (mode, *languages, kind)
        if key not in made:
            arguments = [str(root / "-".join(key)), "--languages", ",".join(languages)]
            for lang in languages:
                file = root / f"{lang}.txt"
                file.write_text("\n".join(TEXT[lang]) + "\n", encoding="utf-8")
                arguments += ["--mono", f"train.{lang}={file}"]
            for lang in segment:
                arguments += ["--segment", f"{lang}=char"]
            arguments += ["--vocab", mode, "--vocab-type", kind, "--vocab-size", "60"]
            assert main(["prepare", *arguments]) == 0
            made[key] = DataFolder(arguments[0])
        return made[key]

    return make


def codec_of(folder, source, target, **options):
    dictionaries = tuple(
        Dictionary.load(str(folder.dictionary_path(lang))) for lang in (source, target)
    )
    return FolderCodec(folder, (source, target), dictionaries, **options)


@pytest.mark.parametrize("mode", ["joint", "union", "prefixed", "separate"])
def test_raw_text_becomes_symbols_of_the_source_and_comes_back(prepared, mode):
    folder = prepared(mode, "en", "de")
    codec, back = codec_of(folder, "en", "de"), codec_of(folder, "de", "en")
    for line in ("the cat sees a dog .", "a dog runs .", ""):
        symbols = codec.encode(line)
        assert all(symbol in codec.dictionaries[0] for symbol in symbols.split())
        assert codec.decode(symbols) == line
    german = "die Katze sieht einen Hund ."
    assert codec.decode(back.encode(german)) == german  # symbols of the target


def test_an_unknown_word_stays_and_so_does_its_escaped_form(prepared):
    codec = codec_of(prepared("joint", "en", "de", kind="word"), "en", "de")
    symbols = codec.encode("the zebra sees a dog .")
    assert symbols.split()[1] == "<unk>"
    assert codec.decode(symbols) == "the <unk> sees a dog ."
    escaped = symbols.replace("<unk>", "<<unk>>")
    assert codec.decode(escaped) == "the <<unk>> sees a dog ."


def test_special_symbols_are_no_text(prepared):
    codec = codec_of(prepared("joint", "en", "de"), "en", "de")
    assert codec.decode(f"<null> {codec.encode('a dog')} <mask>") == "a dog"


def test_text_that_fairseq_has_joined_stays_as_it_is(prepared):
    codec = codec_of(prepared("joint", "en", "de"), "en", "de", joined=True)
    assert codec.decode("ein Hund läuft .") == "ein Hund läuft ."


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("mode", ["joint", "separate"])
def test_chinese_characters_are_joined_on_either_side(prepared, mode, joined):
    folder = prepared(mode, "en", "zh", segment=["zh"])
    for pair in (("en", "zh"), ("zh", "en")):
        codec = codec_of(folder, *pair, joined=joined)
        symbols = codec_of(folder, "zh", "en").encode("猫看见一只狗。")
        if joined:
            symbols = symbols.replace(" ", "").replace("▁", " ").strip()
            assert " " in symbols
        assert codec.decode(symbols) == "猫看见一只狗。"


@pytest.fixture
def dictionary():
    found = Dictionary()
    for word in ("<mask>", "<null>", "dog", "runs"):
        found.add_symbol(word)
    return found


def rows(*ids):
    return Sentences([np.array([*row, SEP]) for row in ids])


def test_rows_of_the_same_tokens_get_their_own_text(dictionary):
    references = References(dictionary)
    target = torch.tensor([[6, UNK, SEP], [6, UNK, SEP], [7, SEP, PAD]])
    references.expect({"target": target, "references": ["dog a", "dog b", "RUNS"]})
    asked = [target[0], target[1], target[2, :2]]
    found = [dictionary.string(row, escape_unk=True) for row in asked]
    assert found == ["dog a", "dog b", "RUNS"]
    assert all(type(one) is RawReference for one in found)


def test_all_other_text_is_decoded(dictionary):
    references = References(dictionary)
    row = torch.tensor([6, UNK, SEP])
    references.expect({"target": row[None], "references": ["dog a"]})
    assert dictionary.string(row) == "dog <unk>"
    assert dictionary.string(torch.tensor([7, UNK, SEP]), escape_unk=True) == "runs <<unk>>"


def test_what_differs_is_counted_with_an_example():
    target, raw = rows([6, 7], [6, UNK]), ["dog runs", "dog Ω"]
    texts = {6: "dog", 7: "runs", UNK: "<unk>"}

    def load():
        return SimpleNamespace(decode=lambda ids: " ".join(texts[i] for i in ids[:-1].tolist()))

    line = difference(TranslationDataset(target, 64, target, raw=raw), load)
    assert line.startswith("1 of 2 references are not what their tokens say, such as 'dog Ω', of ")
    assert "'dog <unk>'" in line
    alike = TranslationDataset(target, 64, target, raw=["dog runs", "dog <unk>"])
    assert difference(alike, load) is None


def test_references_of_an_earlier_version_count_unknown_tokens():
    target = rows([6], [UNK])
    line = difference(TranslationDataset(target, 64, target), None)
    assert line.startswith("1 of 2 references have unknown tokens, compared as <<unk>>; prepare")
