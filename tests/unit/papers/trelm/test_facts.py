import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm.facts import read_shape, survey
from tests.tiny_sources import write_folder

SHAPE = EncoderShape(4, 16, 32, 2, 64)


@pytest.fixture
def text(tmp_path):
    """``text("mono/train.en", ...)``: a folder with these files, as `synthesize` names them."""

    def make(*names):
        for name in names:
            path = tmp_path / "text" / f"{name}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("a line\n")
        return str(tmp_path / "text")

    return make


MONO = [f"mono/{split}.{lang}" for split in ("train", "valid") for lang in ("en", "de")]
PAIRS = [f"parallel/train.en-de.{lang}" for lang in ("en", "de")]


def test_the_facts_of_text_files(text, config):
    found = survey(config(text=text(*MONO, *PAIRS)), "de", SHAPE)
    assert found.mono == {(s, lang) for s in ("train", "valid") for lang in ("en", "de")}
    assert found.parallel == {"train"}
    assert found.dictionaries == (("en", "de"),)
    assert len(found.files) == 6
    assert found.validates(["en", "de"], mono_text=True, pairs=False)
    assert not found.validates(["en", "de"], mono_text=False, pairs=True)


def test_only_the_files_of_the_pair_count(text, config):
    folder = text(*MONO, *PAIRS, "mono/train.id", "mono/valid.id")
    mono = (f"test.id={folder}/mono/train.id.txt", f"test.de={folder}/mono/train.de.txt")
    found = survey(config(text=folder, languages="en,de,id", mono=mono), "de", SHAPE)
    assert ("test", "de") in found.mono
    assert not any(lang == "id" for _, lang in found.mono)


def test_a_vocabulary_of_each_language_is_two_dictionaries(text, config):
    separate = config(text=text(*MONO, *PAIRS), vocab="separate", separate="tokens,softmax")
    assert survey(separate, "de", SHAPE).dictionaries == (("en",), ("de",))


def test_a_split_to_translate_that_is_named_must_be_there(text, config):
    folder = text(*MONO, *PAIRS, *(f"parallel/test1.en-de.{lang}" for lang in ("en", "de")))
    assert survey(config(text=folder), "de", SHAPE).parallel == {"train", "test1"}
    survey(config(text=folder, translate_split="test1"), "de", SHAPE)
    with pytest.raises(UserError) as error:
        survey(config(text=folder, translate_split="test1,test2"), "de", SHAPE)
    assert str(error.value) == (
        "`--translate-split` test2: there is no parallel text of en-de in it; splits that have "
        "some: train, test1; did you mean 'test1'?"
    )


def test_the_facts_of_a_ready_data_folder(tiny_corpus, config):
    found = survey(config(text="", data=str(tiny_corpus.path)), "de", SHAPE)
    assert ("test", "de") in found.mono
    assert found.parallel == {"train", "valid", "test"}
    assert (found.dictionaries, found.files) == ((("en", "de"),), ())


@pytest.mark.parametrize(
    ("files", "changes", "message"),
    [
        (
            [*MONO[1:], *PAIRS],
            {},
            "no monolingual training text of 'en': give `--mono train.en=FILE`",
        ),
        (
            [*MONO, *PAIRS],
            {"bpw_split": "test"},
            "`--bpw-split` test: there is no monolingual text of 'en' in it",
        ),
        (
            MONO,
            {"embeddings": "linked", "mapping": "none", "transfer_steps": 0},
            "`--embeddings linked` needs parallel training text of en-de; give `--parallel "
            "train.en-de=FILE,FILE`",
        ),
        (
            MONO,
            {},
            "the transfer phases need parallel training text of en-de; give `--parallel "
            "train.en-de=FILE,FILE`, or `--transfer-steps 0`",
        ),
        (
            [*MONO, *PAIRS],
            {"checkpoint": "best"},
            "`--checkpoint best` needs validation text of both languages, parallel and monolingual",
        ),
        (
            [*MONO, *PAIRS],
            {"vocab": "separate"},
            "a vocabulary for each language needs `--separate` with tokens,softmax, got ''",
        ),
        (
            [*MONO, *PAIRS],
            {"mono": ("train.de=none.txt",)},
            "none.txt: no such file",
        ),
    ],
)
def test_text_that_is_missing_is_one_line(text, config, files, changes, message):
    with pytest.raises(UserError) as error:
        survey(config(text=text(*files), **changes), "de", SHAPE)
    assert str(error.value) == message


def test_the_sizes_are_those_of_the_source(tmp_path, config):
    write_folder(tmp_path / "bert", "bert")
    shape = read_shape(config(source=str(tmp_path / "bert")))
    assert (shape.layers, shape.dim, shape.max_positions) == (2, 16, 20)


@pytest.mark.parametrize(
    ("sizes", "changes", "message"),
    [
        (
            {"num_hidden_layers": 3},
            {},
            "`--source` {source}: must have an even number of layers, since a migration trains "
            "halves, got 3",
        ),
        ({}, {"max_positions": 64}, "`--max-positions` must be at most the source's 20, got 64"),
    ],
)
def test_a_source_that_cannot_be_migrated_so_is_one_line(tmp_path, config, sizes, changes, message):
    write_folder(tmp_path / "bert", "bert", **sizes)
    with pytest.raises(UserError) as error:
        read_shape(config(source=str(tmp_path / "bert"), **changes))
    assert str(error.value) == message.format(source=tmp_path / "bert")
