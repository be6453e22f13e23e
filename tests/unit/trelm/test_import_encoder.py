"""An encoder that was taken over gives the states and logits of the library it comes from."""

import pytest
import torch

from fairseq_xling.errors import UserError
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.trelm.import_encoder import import_encoder
from tests.tiny_sources import write_folder, write_tokenizer

LINES = ["word3 word1s, word2", "word7 else word7s"]


@pytest.mark.row("T24", "T27")
@pytest.mark.parametrize("head", [True, False])
def test_states_are_the_sources(tmp_path, head):
    model = write_folder(tmp_path / "bert", "bert", head=head)
    tokenizer = write_tokenizer(tmp_path / "bert")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    report = import_encoder(tmp_path / "bert", ["en", "de"], tmp_path / "out")
    assert "train it with" in report and ("biases are the source's" in report) == head
    encoder = Encoder.load(tmp_path / "out" / "checkpoint.pt", tmp_path / "out" / "data")
    sentences = TextEncoder.load(tmp_path / "out" / "data", "de").encode(LINES)
    for indices, states, _ in encoder.states(sentences, "de"):
        for row, number in enumerate(indices):
            ids = tokenizer.encode(LINES[number]).ids
            with torch.no_grad():
                out = model(torch.tensor([ids]), output_hidden_states=True)
            expected = torch.stack(out.hidden_states)[:, 0]
            assert expected.abs().mean() > 0.01
            torch.testing.assert_close(states[:, row, : len(ids)], expected, rtol=0, atol=1e-4)


def test_logits_of_words_are_the_sources(tmp_path):
    model = write_folder(tmp_path / "bert", "bert")
    tokenizer = write_tokenizer(tmp_path / "bert")
    import_encoder(tmp_path / "bert", ["en"], tmp_path / "out")
    encoder = Encoder.load(tmp_path / "out" / "checkpoint.pt", tmp_path / "out" / "data")
    text = TextEncoder.load(tmp_path / "out" / "data", "en")
    (ids,) = text.encode(["word3 word1 word2"])
    ((logits, _),) = encoder.masked_logits([ids], [torch.tensor([1]).numpy()], "en")
    theirs = [2, tokenizer.token_to_id("word3"), 4, tokenizer.token_to_id("word2"), 3]
    with torch.no_grad():
        expected = model(torch.tensor([theirs])).logits[0, 2]
    for word in ("word0", "word5", "word13"):
        (number,) = text.encode([word])[0][:-1]
        torch.testing.assert_close(
            logits[0, number], expected[tokenizer.token_to_id(word)], rtol=0, atol=1e-4
        )


def test_what_is_no_folder_or_has_languages_is_refused(tmp_path):
    with pytest.raises(UserError, match="must be a folder in Hugging Face format"):
        import_encoder(tmp_path / "none", ["en"], tmp_path / "out")
    write_folder(tmp_path / "xlm", "xlm", n_langs=2, lang2id={"de": 1, "en": 0})
    with pytest.raises(UserError, match="encoder with language embeddings"):
        import_encoder(tmp_path / "xlm", ["en"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
