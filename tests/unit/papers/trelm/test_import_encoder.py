"""An encoder that was taken over gives the states and logits of the library it comes from."""

import json

import pytest
import torch

from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.data.dictionary import read_dictionary
from fairseq_xling.data.folder import NULL
from fairseq_xling.errors import UserError
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.sources import read_source
from fairseq_xling.papers.trelm.import_encoder import import_encoder
from fairseq_xling.papers.trelm.initialise import InitOptions
from fairseq_xling.papers.trelm.start import ModelOptions
from fairseq_xling.papers.trelm.start_file import make_start
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.tokenizers.vocabulary import (
    BERT_SPECIALS,
    ROBERTA_SPECIALS,
    SPECIAL_NAMES,
)
from tests.tiny_sources import vocabulary, write_folder, write_tokenizer

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


@pytest.mark.row("T23")
def test_a_migration_that_keeps_a_published_vocabulary_has_its_rows_bit_for_bit(tmp_path):
    model = write_folder(tmp_path / "bert", "bert")
    write_tokenizer(tmp_path / "bert")
    import_encoder(tmp_path / "bert", ["en", "de"], tmp_path / "out")
    data, output = tmp_path / "out" / "data", tmp_path / "init.pt"
    how = ModelOptions(arch="tri_bert_tiny"), InitOptions(embeddings="source")
    make_start(output, read_source(tmp_path / "bert"), data, *how)
    rows = load_plain(output)["model"]["encoder.tokens.shared.weight"]
    theirs = model.get_input_embeddings().weight
    _, tokens = vocabulary("bert")
    symbols = read_dictionary(data / "dict.txt")
    for token, row in zip(tokens[5:], theirs[5:], strict=True):
        symbol = token[2:] if token.startswith("##") else f"▁{token}"
        assert torch.equal(rows[symbols.index(symbol)], row)


# As published: mBERT keeps case and accents, XLM-R and RoBERTa mark where words begin.
TEXT = ["Schöne Grüße, 人々は北京 don't STOP!", "", "Äpfel und (Birnen) é 3.14"]


def wordpiece_tokenizer(cased: bool):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    pieces = ["Sch", "##öne", "Gr", "##üße", "人", "々", "##は", "北", "京", "don", "t", "ST"]
    pieces += ["##OP", ",", "'", "!", "Ä", "##pfel", "und", "(", "Birnen", ")", "é", "3", ".", "14"]
    ids = {token: n for n, token in enumerate([*BERT_SPECIALS.values(), *pieces])}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer, ["[CLS]", "[SEP]"]


def byte_level_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġu", "nd"]
    ids = {token: n for n, token in enumerate([*ROBERTA_SPECIALS.values(), *letters])}
    tokenizer = Tokenizer(models.BPE(ids, [("Ġ", "u"), ("n", "d")], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer, ["<s>", "</s>"]


def unigram_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = sorted({letter for line in TEXT for letter in line} - set(" "))
    pieces = [*ROBERTA_SPECIALS.values(), "▁", "▁und", "nen", *letters]
    scores = [(piece, -float(n)) for n, piece in enumerate(pieces)]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=pieces.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer, ["<s>", "</s>"]


def camembert_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = sorted({letter for line in TEXT for letter in line} - set(" "))
    pieces = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"]
    pieces += ["▁", "▁und", "nen", *letters, "<mask>"]
    scores = [(piece, -float(n)) for n, piece in enumerate(pieces)]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=pieces.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer, ["<s>", "</s>"]


def xlm_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = sorted({letter for line in TEXT for letter in line} - set(" "))
    tokens = ["<s>", "</s>", "<pad>", "<unk>", "<special0>", "<special1>", *letters]
    ids = {token: n for n, token in enumerate([*tokens, *(f"{x}</w>" for x in letters)])}
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


@pytest.mark.row("T24", "T27")
@pytest.mark.parametrize("name", PUBLISHED)
def test_text_has_the_states_of_the_published_tokenizer_and_model(name, tmp_path):
    tokenizer, model, (first, last) = published(name, tmp_path / "hf")
    import_encoder(tmp_path / "hf", ["de"], tmp_path / "out")
    encoder = Encoder.load(tmp_path / "out" / "checkpoint.pt", tmp_path / "out" / "data")
    sentences = TextEncoder.load(tmp_path / "out" / "data", "de").encode(TEXT)
    for indices, states, _ in encoder.states(sentences, "de"):
        for row, number in enumerate(indices):
            ids = tokenizer.encode(TEXT[number]).ids
            ids = [tokenizer.token_to_id(first), *ids, tokenizer.token_to_id(last)]
            assert len(sentences[number]) == len(ids) - 1
            with torch.no_grad():
                out = model(torch.tensor([ids]), output_hidden_states=True)
            expected = torch.stack(out.hidden_states)[:, 0]
            torch.testing.assert_close(states[:, row, : len(ids)], expected, rtol=0, atol=1e-5)


@torch.no_grad()
def assert_same_predictions(imported, source) -> None:
    """Log-probabilities of every symbol of ``source`` are the same; of others there are none."""
    encoder = Encoder.load(imported / "checkpoint.pt", imported / "data")
    (lang,) = encoder.languages
    ours = [*SPECIAL_NAMES.values(), "<null>", *encoder.task.dictionaries[lang].symbols[6:]]
    ours[:4] = ["<s>", "<pad>", "</s>", "<unk>"]
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
def test_log_probabilities_of_all_symbols_are_the_sources(name, unused, tmp_path):
    published(name, tmp_path / "hf", unused)
    import_encoder(tmp_path / "hf", ["de"], tmp_path / "out")
    assert_same_predictions(tmp_path / "out", read_source(tmp_path / "hf"))


def test_masked_words_have_the_probabilities_of_the_library(tmp_path):
    model = write_folder(tmp_path / "bert", "bert")
    tokenizer = write_tokenizer(tmp_path / "bert")
    import_encoder(tmp_path / "bert", ["en"], tmp_path / "out")
    encoder = Encoder.load(tmp_path / "out" / "checkpoint.pt", tmp_path / "out" / "data")
    text = TextEncoder.load(tmp_path / "out" / "data", "en")
    (ids,) = text.encode(["word3 word1 word2"])
    ((logits, _),) = encoder.masked_logits([ids], [torch.tensor([1]).numpy()], "en")
    theirs = [2, tokenizer.token_to_id("word3"), 4, tokenizer.token_to_id("word2"), 3]
    with torch.no_grad():
        expected = model(torch.tensor([theirs])).logits[0, 2].log_softmax(-1)
    for word in ("word0", "word5", "word13"):
        (number,) = text.encode([word])[0][:-1]
        torch.testing.assert_close(
            logits[0].log_softmax(-1)[number],
            expected[tokenizer.token_to_id(word)],
            rtol=0,
            atol=1e-5,
        )


def test_a_symbol_that_the_source_lacks_can_still_be_learnt(tmp_path):
    write_folder(tmp_path / "bert", "bert")
    write_tokenizer(tmp_path / "bert")
    import_encoder(tmp_path / "bert", ["en"], tmp_path / "out")
    encoder = Encoder.load(tmp_path / "out" / "checkpoint.pt", tmp_path / "out" / "data")
    module, states = encoder.model.encoder, torch.zeros(1, encoder.width)
    loss = -module.logits(states, ("en", "en")).log_softmax(-1)[0, NULL]
    loss.backward()
    assert loss.isfinite() and module.softmax.select("en").bias.grad[NULL] == pytest.approx(-1)


def test_what_is_no_folder_or_has_languages_is_refused(tmp_path):
    with pytest.raises(UserError, match="must be a folder in Hugging Face format"):
        import_encoder(tmp_path / "none", ["en"], tmp_path / "out")
    write_folder(tmp_path / "xlm", "xlm", n_langs=2, lang2id={"de": 1, "en": 0})
    with pytest.raises(UserError, match="encoder with language embeddings"):
        import_encoder(tmp_path / "xlm", ["en"], tmp_path / "out")
    (tmp_path / "model.pt").touch()
    with pytest.raises(UserError, match="a checkpoint has no tokenizer: `fairseq-xling init`"):
        import_encoder(tmp_path / "model.pt", ["en"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_import_that_fails_leaves_nothing(tmp_path):
    write_folder(tmp_path / "bert", "bert")
    write_tokenizer(tmp_path / "bert")
    (tmp_path / "bert" / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError):
        import_encoder(tmp_path / "bert", ["en"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
