"""Fine-tuned models that `export --format hf` writes, read by transformers: equal logits."""

import json

import pytest
import torch
import transformers

from fairseq_xling.cli import main
from fairseq_xling.data.folder import PAD, SPECIALS
from fairseq_xling.interop.encoder import Encoder
from tests.exported_models import ODD, make_checkpoint, make_data

FILES = {
    "tags": "dog\tB-X\ncat\tO\n\nzebra\tI-X\n\n",
    "classes": "dog\tcat\tyes\ncat\tdog\tno\n",
    "squad": json.dumps(
        {"data": [{"paragraphs": [{"context": "dog cat", "qas": [
            {"id": "1", "question": "cat", "answers": [{"text": "dog", "answer_start": 0}]}
        ]}]}]}
    ),
    "trees": "1\tdog\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n",
}  # fmt: skip
TAGS = "--columns token=0,tag=1"
HEADS = {
    "classification": ("classes", "--columns text=0,pair=1,label=2", "SequenceClassification"),
    "pos": ("tags", f"{TAGS} --read-layer 2 --head-layers 1", "TokenClassification"),
    "ner": ("tags", TAGS, "TokenClassification"),
    "span_qa": ("squad", "", "QuestionAnswering"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    data = make_data(folder)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    make_checkpoint(folder / "lm.pt", data, f"{ODD} --separate emb,1 --num-segments 2")
    make_checkpoint(folder / "tri.pt", data, "--arch tri_bert_tiny", "cdlm")
    return folder


def tuned(world, file, head, text, options, encoder="lm.pt"):
    options = (
        f"--arch cross_lingual_transfer --encoder {world / encoder} --head {head} {options} "
        f"--train-file en={world / text} --valid-file en={world / text}"
    )
    kind = "cross_lingual_transfer"
    return make_checkpoint(file, world / "data", options, kind, criterion=kind)


def export(checkpoint, folder):
    options = ["--output", str(folder), "--format", "hf", "--language", "de"]
    return main(["export", str(checkpoint), *options])


def assert_not_imported(folder, said, capsys):
    capsys.readouterr()
    again = folder.parent / "again"
    assert main(["import", str(folder), "--languages", "de", "--output", str(again)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"fairseq-xling: error: {folder}: {said}")
    assert error.count("\n") == 1
    assert not again.exists()


@torch.no_grad()
@pytest.mark.parametrize("head", HEADS)
def test_logits_are_those_of_the_head_which_import_refuses(head, world, tmp_path, capsys):
    text, options, kind = HEADS[head]
    checkpoint = tuned(world, tmp_path / "model.pt", head, text, options)
    assert export(checkpoint, tmp_path / "out") == 0
    model, info = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    assert type(model).__name__ == f"BertFor{kind}"
    assert not info["missing_keys"] and not info["unexpected_keys"]

    loaded = Encoder.load(checkpoint)
    ours = loaded.model
    rows = len(ours.encoder.tokens.select("de").weight)
    tokens = torch.randint(SPECIALS, rows, (3, 9), generator=torch.Generator().manual_seed(1))
    segments = torch.tensor([0] * 4 + [1] * 5).expand(3, 9)
    padding = torch.arange(9) >= torch.tensor([9, 6, 5])[:, None]
    tokens = tokens.masked_fill(padding, PAD)
    src = {
        "tokens": tokens,
        "positions": torch.arange(9).expand(3, 9),
        "langs": torch.ones_like(tokens),
        "segments": segments,
        "padding_mask": padding,
    }
    real = ~padding
    found = model.eval()(input_ids=tokens, attention_mask=real.long(), token_type_ids=segments)
    one = torch.ones(3, dtype=torch.long)
    places = torch.arange(9).expand(3, 9)
    fields = {"rows": one, "row": torch.zeros_like(places), "place": places}
    fields |= {"offset": one * 4, "size": one[:, None] * 5}
    wanted = ours(src, ("de", "de"), fields)
    if head == "span_qa":
        allowed = (places >= 4) & real
        pairs = [(found.start_logits, wanted["first"]), (found.end_logits, wanted["last"])]
        pairs = [(its[allowed], mine[allowed]) for its, mine in pairs]
    elif head == "classification":
        pairs = [(found.logits, wanted["logits"])]
    else:
        pairs = [(found.logits[real], wanted["logits"][real])]
    for its, mine in pairs:
        torch.testing.assert_close(its, mine, rtol=1e-5, atol=1e-5)
    tensor = "qa_outputs.bias" if head == "span_qa" else "classifier.bias"
    said = f"a model with a fine-tuned head (`{tensor}`) cannot be imported unchanged; save its"
    assert_not_imported(tmp_path / "out", said, capsys)
    if head != "span_qa":
        assert list(model.config.id2label.values()) == next(iter(loaded.task.head.labels.values()))


def test_a_head_that_the_other_side_does_not_have_is_refused(world, tmp_path, capsys):
    checkpoint = tuned(world, tmp_path / "model.pt", "parsing_pos", "trees", "")
    assert export(checkpoint, tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "`--format hf`: unknown head for BERT in transformers 'parsing_pos'" in said
    assert "known: classification, ner, pos, span_qa" in said
    assert [file.name for file in tmp_path.iterdir()] == ["model.pt"]


def test_a_trilayer_is_not_imported_again(world, tmp_path, capsys):
    assert export(world / "tri.pt", tmp_path / "out") == 0
    assert_not_imported(tmp_path / "out", "unsupported architecture 'xling'; supported: ", capsys)


def test_a_head_above_a_trilayer_is_refused(world, tmp_path, capsys):
    checkpoint = tuned(world, tmp_path / "model.pt", "pos", "tags", TAGS, "tri.pt")
    assert export(checkpoint, tmp_path / "out") == 1
    assert "a model with a TRILayer is no BERT" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
