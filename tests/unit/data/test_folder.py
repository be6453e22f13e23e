"""Data folders, whole and in shards."""

import shutil

import numpy as np
import pytest
from fairseq.data import Dictionary

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, sha256, write_json
from fairseq_xling.data import mmap
from fairseq_xling.data.folder import (
    CLS,
    MASK,
    NULL,
    PAD,
    SEP,
    SPECIALS,
    UNK,
    DataFolder,
    Shards,
    shard_paths,
)
from fairseq_xling.data.mmap import TokenFile, write_items


def test_the_special_ids_are_those_that_fairseq_gives_them(tiny_corpus):
    loaded = Dictionary.load(str(tiny_corpus.path / "dict.txt"))
    assert (loaded.bos(), loaded.pad(), loaded.eos(), loaded.unk()) == (CLS, PAD, SEP, UNK)
    assert (loaded.index("<mask>"), loaded.index("<null>")) == (MASK, NULL)
    assert loaded.index("▁en0") == SPECIALS == tiny_corpus.ids["en"][0]
    assert loaded.index("▁de3") == tiny_corpus.ids["de"][3]


@pytest.mark.parametrize("mode", ["joint", "prefixed", "separate"])
def test_vocabulary_sizes_are_those_of_fairseqs_dictionaries(make_corpus, mode):
    folder = DataFolder(make_corpus(mode=mode).path)
    for lang in ("en", "de"):
        loaded = Dictionary.load(str(folder.dictionary_path(lang)))
        assert folder.vocab_sizes[lang] == len(loaded)
    assert folder.separate_vocabularies == (mode == "separate")
    assert (len({*map(folder.dictionary_digest, ("en", "de"))}) == 1) == (mode != "separate")


def test_monolingual_text_comes_back_with_a_sep_after_each_sentence(tiny_corpus):
    file = DataFolder(tiny_corpus.path).mono("train", "de")
    sentences = tiny_corpus.mono["train"]["de"]
    assert [item.tolist() for item in file] == [[*sentence, SEP] for sentence in sentences]
    assert file.tokens.tolist() == tiny_corpus.stream("train", "de")
    folder = DataFolder(tiny_corpus.path)
    asked = [("train", "de"), ("train", "fr"), ("test7", "de")]
    assert [folder.has_mono(*one) for one in asked] == [True, False, False]


def test_parallel_text_can_be_asked_for_in_both_directions(tiny_corpus):
    folder = DataFolder(tiny_corpus.path)
    assert folder.pairs("train") == [("en", "de")]
    forward = folder.parallel("train", "en", "de")
    backward = folder.parallel("train", "de", "en")
    for i, (en, de) in enumerate(tiny_corpus.pairs["train"]):
        assert forward[0][i].tolist() == backward[1][i].tolist() == [*en, SEP]
        assert forward[1][i].tolist() == backward[0][i].tolist() == [*de, SEP]
    assert len(folder.order("train", "de", "en")) == len(tiny_corpus.pairs["train"])


def test_the_dictionary_of_anchors_is_empty_where_there_is_none(make_corpus):
    corpus = make_corpus()
    folder = DataFolder(corpus.path)
    first = folder.anchors("en")[0]
    assert first == [[corpus.ids["en"][0]], [[[corpus.ids["de"][0]], 1.0, "de"]]]
    (corpus.path / "anchors.en.json").unlink()
    assert folder.anchors("en") == []


def edited(path, **changes):
    write_json(path / "meta.json", read_json(path / "meta.json") | changes)


def refusal(path, ask=DataFolder):
    with pytest.raises(UserError) as caught:
        ask(path)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(path), "FOLDER")


def test_a_folder_that_is_no_data_folder_says_which_command_makes_one(tmp_path):
    missing = refusal(tmp_path / "no")
    assert missing == "FOLDER: no such folder (no meta.json); run `fairseq-xling prepare FOLDER`"
    unfinished = refusal(tmp_path)
    assert unfinished.startswith("FOLDER: not a finished data folder (no meta.json); run")
    (tmp_path / "meta.json").write_text('{"format": 1, "languages": ["en"]}')
    assert refusal(tmp_path).startswith("FOLDER/meta.json: has no dictionaries")
    (tmp_path / "meta.json").unlink()
    (tmp_path / "mono").mkdir()
    for lang in ("en", "de"):
        (tmp_path / "mono" / f"train.{lang}.txt.gz").touch()
    assert refusal(tmp_path) == (
        "FOLDER: is a folder of text, from which `fairseq-xling prepare DATA --from FOLDER "
        "--languages de,en` makes a data folder"
    )


def test_a_dictionary_that_changed_or_went_missing_is_refused(make_corpus):
    path = make_corpus(mode="separate").path
    with open(path / "dict.de.txt", "a", encoding="utf-8") as file:
        file.write("▁new 1\n")
    message = "FOLDER/dict.de.txt: changed since the folder was prepared; prepare it again"
    assert refusal(path) == message
    (path / "dict.de.txt").unlink()
    assert refusal(path) == "FOLDER/dict.de.txt: no such file, though meta.json lists it"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda f: f.dictionary_path("dee"), "unknown language 'dee'; did you mean 'de'?"),
        (lambda f: f.mono("train", "fr"), "unknown language 'fr'; known: en, de"),
        (lambda f: f.mono("dev", "en"), "has no monolingual 'dev' text of language 'en'"),
        (lambda f: f.parallel("train", "en", "fr"), "has no parallel 'train' text of en-fr"),
        (lambda f: f.order("dev", "en", "de"), "has no word alignment en-de for 'dev'; prepare it"),
    ],
)
def test_what_the_folder_does_not_have_is_named(tiny_corpus, ask, message):
    folder = DataFolder(tiny_corpus.path)
    assert refusal(tiny_corpus.path, lambda _: ask(folder)).startswith(f"FOLDER: {message}")


def test_an_unknown_split_is_answered_with_those_that_there_are(tiny_corpus):
    folder = DataFolder(tiny_corpus.path)
    assert folder.splits == ["train", "valid", "test"]
    ends = "; its splits are train, valid, test; did you mean 'test'?"
    for ask in (
        lambda f: f.mono("test1", "en"),
        lambda f: f.parallel("test1", "en", "de"),
        lambda f: f.order("test1", "en", "de"),
    ):
        assert refusal(tiny_corpus.path, lambda _, ask=ask: ask(folder)).endswith(ends)
    message = refusal(tiny_corpus.path, lambda _: folder.parallel("train", "en", "fr"))
    assert "its splits" not in message  # this split is there


def test_sides_of_different_length_are_refused_with_both_counts(make_corpus):
    path = make_corpus().path
    write_items(path / "parallel" / "train.en-de.de", [[6, 2]] * 19, "<u2")
    message = refusal(path, lambda p: DataFolder(p).parallel("train", "en", "de"))
    assert message.endswith("train.en-de: sides must be equally long, got 20 and 19 sentences")


def test_text_with_ids_of_another_dictionary_is_refused(make_corpus):
    path = make_corpus(mode="separate", words=5).path  # each dictionary has 6 + 5 ids
    write_items(path / "parallel" / "train.en-de.en", [[10, 2]] * 19 + [[11, 2]], "<u2")
    message = refusal(path, lambda p: DataFolder(p).parallel("train", "de", "en"))
    name, cause = "FOLDER/parallel/train.en-de.en.bin", "FOLDER/dict.en.txt has only 11"
    assert message.startswith(f"{name}: sentence 20 has id 11, but {cause}; the file is damaged")


@pytest.mark.parametrize(
    "content",
    [
        {"entries": [[1]]},
        {"entries": [[[7], [[[9999], 1.0, "de"]]]]},
        {"entries": [[[7], [[[8], -1.0, "de"]]]]},
        {"entries": [[[7.0], [[[8], 1, "de"]]]]},
        {"entries": [[[7], [[[8], float("inf"), "de"]]]]},
    ],
)
def test_damaged_anchors_are_named(make_corpus, content):
    corpus = make_corpus()
    write_json(corpus.path / "anchors.en.json", content)
    with pytest.raises(UserError, match=r"anchors\.en\.json: damaged; prepare the folder again"):
        DataFolder(corpus.path).anchors("en")


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("languages", [], "has no valid languages"),
        ("languages", ["en", "en"], "has no valid languages (`languages`: language 'en' is named"),
        ("languages", ["en", "../de"], "has no valid languages (`languages`: language code '../d"),
        ("dictionaries", {"dict.en.txt": "0"}, "has no valid dictionaries"),
        ("mono", {"train": {"fr": {}}}, "has no valid mono"),
        ("mono", {"../train": {"en": {}}}, "has no valid mono"),
        ("parallel", {"train": {"en-fr": {}}}, "has no valid parallel"),
        ("parallel", {"train": {"ende": {}}}, "has no valid parallel (language pair 'ende' must"),
        ("files", {"../x": {"bytes": 1, "sha256": ""}}, "has no valid files"),
        ("files", {"dict.txt": 1}, "has no valid files"),
        ("format", True, "format must be 1, got True"),
    ],
)
def test_a_damaged_part_of_the_description_is_named(make_corpus, part, value, message):
    path = make_corpus().path
    edited(path, **{part: value})
    assert refusal(path).startswith(f"FOLDER/meta.json: {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<mask> 1\n<null> 1\na\n", "dict.txt:3: must be a symbol, a space and a count, got 'a'"),
        ("<mask> 1\n<null> 1\na 1\n\n", "dict.txt:4: must be a symbol, a space and a count, got"),
        ("<mask> 1\n<null> 1\na 1\nb 1\na 2\n", "dict.txt:5: has 'a' a second time"),
        ("<mask> 1\n<null> 1\n<s> 1\n", "dict.txt:3: has '<s>' a second time"),
        ("<null> 1\n<mask> 1\n", "dict.txt: must begin with <mask> and <null>, as `prepare`"),
    ],
)
def test_a_dictionary_that_fairseq_would_not_load_is_refused(make_corpus, content, message):
    path = make_corpus().path
    (path / "dict.txt").write_text(content)
    edited(path, dictionaries={"dict.txt": sha256(path / "dict.txt")})
    assert refusal(path).startswith(f"FOLDER/{message}")


def rewritten(path, change):
    """Change the items of a token file."""
    file = TokenFile(path)
    items = [file[i] for i in range(len(file))]
    change(items)
    write_items(path, items, "<i4")


@pytest.mark.parametrize("value", [-1, 99])
def test_links_outside_of_their_sentence_are_refused(make_corpus, value):
    corpus = make_corpus()
    path = corpus.path / "parallel" / "train.en-de.order"
    rewritten(path, lambda items: items[4].__setitem__(0, value))
    message = refusal(corpus.path, lambda p: DataFolder(p).order("train", "en", "de"))
    length = len(corpus.pairs["train"][4][0]) + 1
    place = "FOLDER/parallel/train.en-de"
    assert message == (
        f"{place}.order.bin: sentence 5 has a link to token {value} of the {length} in "
        f"{place}.en; prepare the folder again"
    )


def test_the_largest_link_is_that_to_the_last_token(make_corpus, monkeypatch):
    monkeypatch.setattr(mmap, "_SENTENCES", 3)
    corpus = make_corpus()
    path = corpus.path / "parallel" / "train.en-de.order"
    length = len(corpus.pairs["train"][7][0]) + 1
    rewritten(path, lambda items: items.__setitem__(7, np.full_like(items[7], length)))
    DataFolder(corpus.path).order("train", "en", "de")
    rewritten(path, lambda items: items[7].__setitem__(-1, length + 1))
    with pytest.raises(UserError, match="sentence 8 has a link to token"):
        DataFolder(corpus.path).order("train", "en", "de")


def test_the_alignment_of_other_text_is_refused(make_corpus):
    path = make_corpus().path
    rewritten(path / "parallel" / "train.en-de.order", lambda items: items.pop())
    message = refusal(path, lambda p: DataFolder(p).order("train", "en", "de"))
    assert message.startswith(
        "FOLDER/parallel/train.en-de.order: the alignment must have one entry per target token"
    )


@pytest.fixture
def cut(make_corpus, tmp_path):
    """A folder of three shards."""
    for number in range(3):
        make_corpus(f"cut/shard{number}", seed=number)
    (tmp_path / "cut" / "models").mkdir()
    return tmp_path / "cut"


def test_a_folder_of_shards_is_the_list_of_them_by_number(cut):
    paths = [cut / f"shard{number}" for number in range(3)]
    assert shard_paths(str(cut)) == paths
    assert shard_paths(":".join(map(str, paths))) == paths
    assert shard_paths(str(paths[1])) == [paths[1]]
    assert shard_paths(f"{paths[2]}:{paths[0]}") == [paths[2], paths[0]]
    twice = f"{paths[1]}:{paths[1]}"
    with pytest.raises(UserError, match=f"data: {paths[1]} is named twice in '{twice}'"):
        shard_paths(twice)
    for name in (*(f"shard{number}" for number in range(3, 11)), "shard01"):
        (cut / name).mkdir()
    assert [path.name for path in shard_paths(str(cut))] == [f"shard{k}" for k in range(11)]


def test_epochs_train_on_the_shards_in_turn_and_validate_on_the_first(cut):
    shards = Shards(str(cut))
    read = [shards.folder("train", epoch).path.name for epoch in (1, 2, 3, 4)]
    assert read == ["shard0", "shard1", "shard2", "shard0"]
    assert {shards.folder(split, 2).path.name for split in ("valid", "test1")} == {"shard0"}
    line = f"^{cut}: is a folder of shards; name one of them, such as {cut / 'shard0'}$"
    with pytest.raises(UserError, match=line):
        DataFolder(cut)


def longer_dictionary(folder):
    file = folder / "dict.txt"
    file.write_text(file.read_text(encoding="utf-8") + "more 1\n", encoding="utf-8")
    edited(folder, dictionaries={"dict.txt": sha256(file)})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "{1}: no such folder, though there is shard2; run"),
        (lambda one: (one / "meta.json").unlink(), "{1}: not a finished data folder"),
        (
            lambda one: edited(one, languages=["de", "en"]),
            "{1}: has other languages than {0}: de,en, not en,de; prepare them together",
        ),
        (longer_dictionary, "{1}: has other dictionaries than {0}; prepare them together"),
    ],
)
def test_a_shard_that_is_missing_or_of_other_text_is_named(cut, damage, message):
    shards = Shards(str(cut))
    damage(cut / "shard1")
    found = refusal(str(cut), Shards)
    expected = message.format("FOLDER/shard0", "FOLDER/shard1")
    assert found.startswith(expected)
    with pytest.raises(UserError, match=str(cut / "shard1")):  # in the middle of a training
        shards.folder("train", 2)
