"""Text in and out of fairseq's programs, in every kind of vocabulary."""

import pytest
from fairseq.data import Dictionary

from fairseq_xling.cli import main
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.generation.codec import FolderCodec

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
    codec = codec_of(prepared(mode, "en", "de"), "en", "de")
    for line in ("the cat sees a dog .", "a dog runs .", ""):
        symbols = codec.encode(line)
        assert all(symbol in codec.dictionaries[0] for symbol in symbols.split())
        assert codec.decode(symbols) == line


@pytest.mark.parametrize("mode", ["joint", "union", "prefixed", "separate"])
def test_symbols_of_the_target_become_text(prepared, mode):
    folder = prepared(mode, "en", "de")
    there, back = codec_of(folder, "en", "de"), codec_of(folder, "de", "en")
    assert there.decode(back.encode("die Katze sieht einen Hund .")) == (
        "die Katze sieht einen Hund ."
    )


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
