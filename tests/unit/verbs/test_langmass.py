"""The measure of language leakage, on a model whose probabilities are planted."""

import pytest
import torch

from fairseq_xling.analysis.subject import Subject
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.reports.rows import select
from fairseq_xling.verbs.measures.langmass import LanguageLeakage, Options


class Leaking:
    """Gives 0.7 of its mass to the words of the text's language, 0.2 to those of the other."""

    languages = ["en", "de"]

    def __init__(self, ids, size):
        self.probabilities = {}
        for lang, other in (("en", "de"), ("de", "en")):
            p = torch.full((size,), 0.0)
            p[:6] = 0.1 / 6
            p[ids[lang]] = 0.7 / len(ids[lang])
            p[ids[other]] = 0.2 / len(ids[other])
            self.probabilities[lang] = p
        self.masked = {}

    def masked_logits(self, sentences, positions, lang, max_tokens=8):
        self.masked[lang] = [list(map(int, places)) for places in positions]
        for sentence, chosen in zip(sentences, positions, strict=True):
            gold = torch.as_tensor(sentence[chosen])
            yield self.probabilities[lang].log().expand(len(gold), -1), gold


def run(corpus, encoder=None, **options):
    folder = DataFolder(corpus.path)
    encoder = encoder or Leaking(corpus.ids, folder.vocab_sizes["en"])
    subject = Subject(encoder, folder, "en", ["de"], None)
    return LanguageLeakage().run(subject, Options(**options)), encoder


def test_planted_masses_are_found(tiny_corpus):
    found, encoder = run(tiny_corpus)
    seen = {
        lang: sorted({token for sentence in tiny_corpus.mono["train"][lang] for token in sentence})
        for lang in ("en", "de")
    }
    share = {lang: len(seen[lang]) / len(tiny_corpus.ids[lang]) for lang in seen}
    assert all(0.3 < value <= 1 for value in share.values())
    size = DataFolder(tiny_corpus.path).vocab_sizes["en"]
    for lang, other in (("en", "de"), ("de", "en")):
        own, leaked = 0.7 * share[lang], 0.2 * share[other]
        rows = select(found.rows, {"target": lang})
        assert sum(row["value"] for row in rows) == pytest.approx(1)
        by_language = {row["of"]: row["value"] for row in rows if row.get("of")}
        assert by_language == pytest.approx({lang: own, other: leaked}, abs=1e-6)
        assert {row["masked"] for row in rows} == {sum(map(len, encoder.masked[lang]))}
        chance = {row["of"]: row["chance"] for row in rows if row["of"]}
        assert chance == pytest.approx({one: len(ids) / size for one, ids in seen.items()})
        assert f"{len(seen[lang]):,} of {lang}" in found.notes[0]


def test_masks_are_fixed_by_their_seed_and_only_words_are_masked(tiny_corpus):
    first = run(tiny_corpus)[1].masked
    assert first == run(tiny_corpus)[1].masked
    assert first != run(tiny_corpus, langmass_seed=8)[1].masked
    for places, sentence in zip(first["en"], tiny_corpus.mono["valid"]["en"], strict=True):
        assert places and max(places) < len(sentence)
    limited = run(tiny_corpus, langmass_limit=3)[1].masked
    assert limited["en"] == first["en"][:3]


def test_ids_that_mean_different_words_are_refused(make_corpus):
    corpus = make_corpus(mode="separate")
    with pytest.raises(UserError, match="`--measure langmass` needs ids that the languages share"):
        run(corpus, Leaking(corpus.ids, 50))
