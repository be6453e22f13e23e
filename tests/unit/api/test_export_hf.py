"""What `export --format hf` writes, read by transformers itself, computes as the model did."""

import json

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from fairseq_xling.cli import main
from fairseq_xling.data.folder import MASK, PAD, SPECIALS
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.text.encoder import TextEncoder
from tests.exported_models import LINES, ODD, make_checkpoint, make_data

SHAPES = {
    "linear": "",
    "linear, eps 1e-12": "--norm-eps 1e-12",
    "bert head, segment": "--lm-head bert --num-segments 1",
    "private": "--separate emb,1-2 --lm-head bert --num-segments 2",
    "private softmax": "--separate softmax,5",
    "language embeddings": "--language-embeddings --num-segments 2",
    "no positions": "--no-token-positional-embeddings --lm-head bert",
    "relu": "--activation-fn relu --lm-head bert",
    "approximate gelu, linear": "--activation-fn gelu_tanh",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("export"))


@pytest.fixture(params=SHAPES)
def model(request, data, tmp_path):
    """Our encoder, and the folder exported of it."""
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, f"{ODD} {SHAPES[request.param]}")
    folder = tmp_path / "out"
    assert export(checkpoint, folder, "--language", "de") == 0
    return Encoder.load(checkpoint), folder


def export(checkpoint, folder, *options):
    return main(["export", str(checkpoint), "--output", str(folder), "--format", "hf", *options])


def drawn(size: int) -> dict[str, torch.Tensor]:
    """A batch of three rows of ids, the last two padded."""
    tokens = torch.randint(SPECIALS, size, (3, 9), generator=torch.Generator().manual_seed(1))
    padding = torch.arange(9) >= torch.tensor([9, 6, 2])[:, None]
    tokens[:, 1] = MASK
    return {
        "tokens": tokens.masked_fill(padding, PAD),
        "positions": torch.arange(9).expand(3, 9),
        "langs": torch.ones(3, 9, dtype=torch.long),
        "padding_mask": padding,
    }


def assert_equal(ours, theirs, real):
    for mine, its in zip(ours, theirs, strict=True):
        torch.testing.assert_close(its[real], mine[real], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_states_and_logits_are_those_of_the_model(model):
    encoder, folder = model
    module, pair = encoder.model.encoder, ("de", "de")
    src = drawn(len(module.tokens.select("de").weight))
    real = ~src["padding_mask"]
    inputs = {"input_ids": src["tokens"], "attention_mask": real.long()}
    states = module.states(src, pair)
    bare = AutoModel.from_pretrained(folder)
    assert type(bare).__name__ == "BertModel"
    assert_equal(states, bare.eval()(**inputs, output_hidden_states=True).hidden_states, real)
    whole, info = AutoModelForMaskedLM.from_pretrained(folder, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    logits = whole.eval()(**inputs).logits
    assert_equal([module.logits(states[-1], pair)], [logits], real)


@torch.no_grad()
@pytest.mark.parametrize(
    "model", ["private", "private softmax", "language embeddings", "relu"], indirect=True
)
def test_what_is_imported_again_has_the_same_states_and_predictions(model, tmp_path):
    encoder, folder = model
    again = tmp_path / "again"
    assert main(["import", str(folder), "--languages", "de", "--output", str(again)]) == 0
    back = Encoder.load(again / "checkpoint.pt", again / "data")
    states = []
    for one in (encoder, back):
        texts = TextEncoder.load(one.folder.path, "de").encode(LINES)
        states.append([found[:, words] for _, found, words in one.states(texts, "de")])
    for one, other in zip(*states, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    symbols = [one.task.dictionaries["de"].symbols for one in (encoder, back)]
    theirs = [symbols[1].index(symbol) for symbol in symbols[0]]
    assert sorted(theirs) == list(range(len(symbols[1])))
    middle = states[0][0][-1]
    ours, again = (one.model.encoder.logits(middle, ("de", "de")) for one in (encoder, back))
    torch.testing.assert_close(
        again.log_softmax(-1)[:, theirs], ours.log_softmax(-1), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(
    ("mode", "kind", "how"),
    [
        ("joint", "unigram", "space"),
        ("union", "unigram", "pre"),
        ("union", "bpe", "char"),
        ("prefixed", "word", "space"),
        ("joint", "wordpiece", "basic"),
        ("separate", "wordpiece", "char"),
    ],
)
def test_ids_of_text_are_those_of_the_data_folder(mode, kind, how, tmp_path):
    data = make_data(tmp_path, mode, kind, how)
    separate = "--separate tokens,softmax" if mode == "separate" else ""
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, f"{ODD} {separate}")
    assert export(checkpoint, tmp_path / "out", "--language", "de") == 0
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    ours = TextEncoder.load(data, "de").encode(LINES)
    assert [ids[1:] for ids in tokenizer(LINES)["input_ids"]] == [ids.tolist() for ids in ours]
    assert (tokenizer.mask_token_id, tokenizer.pad_token_id) == (MASK, PAD)
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    rows = load_file(tmp_path / "out" / "model.safetensors")[
        "bert.embeddings.word_embeddings.weight"
    ]
    assert len(tokenizer) == config["vocab_size"] == len(rows)


def test_a_pair_of_texts_is_framed_with_a_segment_each(data, tmp_path):
    options = f"{ODD} --num-segments 2"
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, options)
    assert export(checkpoint, tmp_path / "out") == 0
    both = AutoTokenizer.from_pretrained(tmp_path / "out")("dog", "cat")
    sizes = [len(ids) for ids in TextEncoder.load(data, "en").encode(["dog", "cat"])]
    assert both["token_type_ids"] == [0] * (1 + sizes[0]) + [1] * sizes[1]


@pytest.mark.parametrize("options", ["--separate emb", "--language-embeddings"])
def test_the_card_of_one_language_has_no_other(data, tmp_path, options):
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, f"{ODD} {options}")
    assert export(checkpoint, tmp_path / "out", "--language", "de") == 0
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlanguage:\n- de\nlicense: ")


def test_the_card_names_languages_figures_and_a_licence_to_fill_in(data, tmp_path):
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, ODD)
    assert export(checkpoint, tmp_path / "out") == 0
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlanguage:\n- en\n- de\nlicense: ")
    for figure in (
        *("| updates | 0 |", "| text, train, de | 200 sentences |", "float16"),
        "combining marks and joiners",
    ):
        assert figure in card


@pytest.mark.parametrize(
    ("options", "language", "said"),
    [
        ("--separate emb", [], "`--language` must name one of en, de, since the model has private"),
        ("--language-embeddings", [], "since the model has language embeddings"),
        ("", ["--language", "fr"], "`--language` must name one of en, de, got 'fr'"),
    ],
)
def test_a_path_that_is_not_the_only_one_must_be_chosen(
    options, language, said, data, tmp_path, capsys
):
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, f"{ODD} {options}")
    assert export(checkpoint, tmp_path / "out", *language) == 1
    assert said in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["model.pt"]


def test_text_that_other_programs_cannot_cut_is_refused(tmp_path, capsys):
    data = make_data(tmp_path)
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, ODD)
    meta = json.loads((data / "meta.json").read_text(encoding="utf-8"))
    meta["segment"]["en"] = "moses-en"
    (data / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    assert export(checkpoint, tmp_path / "out") == 1
    assert "the segmentation 'moses-en' of 'en' cannot be expressed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_output_layer_that_bert_cannot_represent_is_left_out(data, tmp_path, capsys):
    checkpoint = make_checkpoint(tmp_path / "model.pt", data, ODD)
    state = torch.load(checkpoint, weights_only=False)
    state["model"]["encoder.layers.4.shared.ffn_norm.weight"][3] = 0
    torch.save(state, checkpoint)
    assert export(checkpoint, tmp_path / "out") == 0
    assert "BertModel, en; without the output layer" in capsys.readouterr().out
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["BertModel"]


def test_a_folder_that_is_not_empty_stays_as_it_is(data, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    assert export("model.pt", tmp_path / "out") == 1
    assert "`--output` must be a new folder" in capsys.readouterr().err
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["mine"]
