"""fairseq's own RoBERTa checkpoints, and ours, as sources."""

import json
import re

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.sources import read_source
from tests.tiny_sources import WORDS, write_fairseq_roberta
from tests.unit.interop.test_sources import assert_close, batch


def read_from(folder):
    return read_source(folder / "model.pt")


@pytest.mark.parametrize("activation", ["gelu", "gelu_accurate", "relu"])
def test_a_fairseq_roberta_gives_the_states_and_logits_of_fairseq(tmp_path, activation):
    model = write_fairseq_roberta(tmp_path, activation_fn=activation)
    source, src = read_from(tmp_path), batch("roberta")
    src["tokens"] = src["tokens"].clamp(max=18)
    del src["segments"]
    with torch.no_grad():
        logits, extra = model.encoder(src["tokens"], return_all_hiddens=True)
    states = [state.transpose(0, 1) for state in extra["inner_states"]]
    encoder = source.encoder()
    ours = encoder.states(src)
    assert_close(ours, states, src)
    assert_close([encoder.logits(ours[-1])], [logits], src)
    assert source.shape.max_positions == 20
    assert source.special_ids == {"cls": 0, "pad": 1, "sep": 2, "unk": 3, "mask": 18}
    assert source.symbols == ["<s>", "<pad>", "</s>", "<unk>", *(f"▁{w}" for w in WORDS), "<mask>"]


def test_names_of_earlier_versions_of_fairseq_are_the_same_weights(tmp_path):
    write_fairseq_roberta(tmp_path)
    expected = read_from(tmp_path).state
    checkpoint = torch.load(tmp_path / "model.pt", weights_only=False)
    old = {}
    for name, tensor in checkpoint["model"].items():
        name = name.replace("encoder.", "decoder.", 1)
        old[name.replace("layernorm_embedding", "emb_layer_norm")] = tensor
    for layer in range(2):
        stem = f"decoder.sentence_encoder.layers.{layer}.self_attn."
        for kind in ("weight", "bias"):
            parts = [old.pop(f"{stem}{letter}_proj.{kind}") for letter in "qkv"]
            old[f"{stem}in_proj_{kind}"] = torch.cat(parts)
    args = checkpoint["cfg"]["model"]
    args.data = str(tmp_path)
    (tmp_path / "old").mkdir()  # and the options are where they used to be, with the data's place
    torch.save({"args": args, "model": old}, tmp_path / "old" / "model.pt")
    state = read_from(tmp_path / "old").state
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name], expected[name]) for name in expected)


def test_weights_of_several_gpus_and_without_an_optimiser_are_the_same_weights(tmp_path):
    write_fairseq_roberta(tmp_path)
    expected = read_from(tmp_path).state
    checkpoint = torch.load(tmp_path / "model.pt", weights_only=False)
    wrapped = {f"module.{name}": tensor for name, tensor in checkpoint["model"].items()}
    changed = {**checkpoint, "model": wrapped, "optimizer_history": []}
    torch.save(changed, tmp_path / "model.pt")
    state = read_from(tmp_path).state
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name], expected[name]) for name in expected)


def test_numbers_of_byte_pieces_are_spelt_out_where_their_list_is_beside_them(tmp_path):
    write_fairseq_roberta(tmp_path)
    lines = ["7 9", "5 3", "madeupword0000 0", *(f"{n} 1" for n in range(100, 111))]
    (tmp_path / "dict.txt").write_text("\n".join(lines) + "\n")
    assert read_from(tmp_path).symbols[4:7] == ["7", "5", "madeupword0000"]
    (tmp_path / "encoder.json").write_text(json.dumps({"Ġthe": 7, "Ã©": 5}))
    assert read_from(tmp_path).symbols[4:7] == ["▁the", "é", "madeupword0000"]
    (tmp_path / "encoder.json").write_text("[1]")
    with pytest.raises(UserError, match=r"encoder\.json: must be an object, got \[1\]"):
        read_from(tmp_path)


NOT_OURS = "unsupported architecture: "


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        (
            "activation_fn",
            "tanh",
            f"{NOT_OURS}`activation_fn` must be one of gelu, gelu_accu",
        ),
        ("encoder_learned_pos", False, f"{NOT_OURS}`encoder_learned_pos` must be True, got False"),
        ("encoder_layers_to_keep", "0", f"{NOT_OURS}`encoder_layers_to_keep` must be '', got '0'"),
        ("encoder_layers", "2", "`encoder_layers` must be an integer of at least 1, got '2'"),
        ("encoder_layers", 10**9, "must have tensors of its 1000000000 layers, got "),
        ("encoder_attention_heads", 0, "`encoder_attention_heads` must be an integer of at least"),
        ("dropout", "0.1", "`dropout` must lie in [0, 1], got '0.1'"),
    ],
)
def test_options_that_our_layers_cannot_represent_are_refused(tmp_path, option, value, rule):
    write_fairseq_roberta(tmp_path)
    checkpoint = torch.load(tmp_path / "model.pt", weights_only=False)
    setattr(checkpoint["cfg"]["model"], option, value)
    torch.save(checkpoint, tmp_path / "model.pt")
    with pytest.raises(UserError, match=f"^{re.escape(f'{tmp_path}/model.pt: {rule}')}.*$"):
        read_from(tmp_path)


def test_pre_norm_and_untied_models_are_refused(tmp_path):
    write_fairseq_roberta(tmp_path / "a", encoder_normalize_before=True)
    with pytest.raises(UserError, match="unsupported architecture: LayerNorm before its sublayers"):
        read_from(tmp_path / "a")
    write_fairseq_roberta(tmp_path / "b", untie_weights_roberta=True)
    with pytest.raises(UserError, match=r"unsupported architecture: its softmax is not tied$"):
        read_from(tmp_path / "b")


def test_missing_and_wrong_dictionaries_and_checkpoints_of_other_models_are_named(tmp_path):
    write_fairseq_roberta(tmp_path)
    path, dictionary = tmp_path / "model.pt", tmp_path / "dict.txt"

    def message(*args) -> str:
        with pytest.raises(UserError) as caught:
            read_source(path, *args)
        return str(caught.value)

    dictionary.write_text("one 1\n")
    rule = f"must have as many symbols as {path} has token embeddings, 19, got 6 with the special"
    assert message() == f"{dictionary}: {rule} ones"
    dictionary.write_text("one\n")
    assert message() == f"{dictionary}:1: must be a symbol and its count, got 'one'"
    dictionary.unlink()
    assert message() == (f"{path}: no dictionary; looked for {dictionary} and moved/away/dict.txt")
    assert message(tmp_path / "x") == f"{path}: no dictionary; looked for {tmp_path}/x/dict.txt"
    torch.save({"cfg": {"model": {"_name": "transformer"}}, "model": {"w": torch.ones(1)}}, path)
    assert message().startswith(f"{path}: unsupported architecture 'transformer'; supported: fai")
    torch.save({"weights": torch.ones(1)}, path)
    assert message() == f"{path}: not a fairseq checkpoint (it contains no model)"
