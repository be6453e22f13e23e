import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.token_translation import shifting
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.papers.transfer import testing as module
from fairseq_xling.papers.transfer.parsing import PAPER, Test, parse_alphas
from fairseq_xling.papers.transfer.testing import Trained, best_on_dev, choose, language_mean

ALPHAS = parse_alphas(PAPER)


class Labels:
    """A stand-in for `Predictor`: a linear head on the first state of an encoder, fitted to it.

    In German the first layer's states are those of English and an offset. Files are sentences and
    labels by name; ``read`` says which were asked for, in order.
    """

    def __init__(self):
        torch.manual_seed(0)
        shape = EncoderShape(2, 16, 32, 4, 12, dropout=0.0, attention_dropout=0.0, init_std=0.3)
        plan = SharingPlan.parse("1", 2)
        encoder = SeparableEncoder(shape, {"en": 30, "de": 30}, plan).eval()
        english, german = (encoder.layers[0].select(lang) for lang in ("en", "de"))
        german.load_state_dict(english.state_dict())
        with torch.no_grad():
            german.ffn_norm.bias += 4 * torch.randn(16)
        draw = np.random.default_rng(1)
        self.text = [np.append(draw.integers(6, 30, 6), 2) for _ in range(40)]
        folder = SimpleNamespace(path="data", mono=lambda split, lang: self.text)
        self.task = SimpleNamespace(folder=folder, languages=["en", "de"])
        self.model = torch.nn.Module()
        self.model.encoder, self.model.max_positions = encoder, lambda: 12
        self.device, self.read = torch.device("cpu"), []
        tokens = torch.as_tensor(draw.integers(6, 30, (200, 6)))
        self.files = {Path("dev"): tokens[:100], Path("test"): tokens[100:]}
        self.weight = torch.randn(16, 4)
        self.gold = {path: self._best(rows, "en") for path, rows in self.files.items()}

    def _best(self, tokens, lang):
        src = {"tokens": tokens, "langs": torch.zeros_like(tokens)}
        src["positions"] = torch.arange(6).expand_as(tokens)
        with torch.no_grad():
            return (self.model.encoder.states(src, (lang, lang))[-1][:, 0] @ self.weight).argmax(-1)

    def predict(self, lang, path):
        self.read.append(path)
        right = self._best(self.files[path], lang) == self.gold[path]
        return SimpleNamespace(scores={"accuracy": 100 * float(right.float().mean())})


@pytest.fixture(scope="module")
def predictor():
    return Labels()


TESTS = [Test("en", "en", Path("test")), Test("de", "de", Path("test"))]


def scores(predictor, alpha, dev=None, alphas=PAPER):
    predictor.read.clear()
    shift = {"layer": 1, "sentences": 40, "alpha": alpha, "alphas": alphas, "dev": dev}
    return module.score_shifted(predictor, TESTS, "en", shift, "accuracy")


def test_what_a_planted_offset_took_from_accuracy_comes_back(predictor):
    assert predictor.predict("en", Path("test")).scores["accuracy"] == 100
    broken = predictor.predict("de", Path("test")).scores["accuracy"]
    assert broken < 60
    assert scores(predictor, "0")["de"]["scores"]["accuracy"] == broken
    assert list(scores(predictor, "1")) == ["de"]  # the source stays as it is
    assert scores(predictor, "1")["de"]["scores"]["accuracy"] == 100
    assert scores(predictor, "-1")["de"]["scores"]["accuracy"] <= broken + 20


def test_the_dev_file_chooses_alpha_and_nothing_else_is_read_for_it(predictor):
    found = scores(predictor, "auto", {"de": Path("dev")})["de"]
    assert predictor.read == [Path("dev")] * len(ALPHAS) + [Path("test")]
    assert found["alpha"] == 1.0 and found["dev"]["1"] == 100
    assert sorted(map(float, found["dev"])) == list(ALPHAS)


@pytest.fixture
def planted(predictor):
    """A dev file whose labels are those of states shifted by .7 of the difference."""
    kept = predictor.gold[Path("dev")]
    vector = language_mean(predictor, "en", 1, 40) - language_mean(predictor, "de", 1, 40)
    with shifting(predictor.model.encoder, 1, 0.7 * vector):
        predictor.gold[Path("dev")] = predictor._best(predictor.files[Path("dev")], "de")
    yield {"de": Path("dev")}
    predictor.gold[Path("dev")] = kept


def test_a_planted_alpha_is_found_on_dev_although_the_test_file_would_choose_another(
    predictor, planted
):
    found = scores(predictor, "auto", planted)["de"]
    assert found["alpha"] == 0.7 and found["dev"]["0.7"] == 100
    assert [alpha for alpha, score in found["dev"].items() if score == 100] == ["0.7"]
    assert found["scores"]["accuracy"] < 100
    # Steps of .2 pass it by.
    coarse = scores(predictor, "auto", planted, "0.2:2:0.2")["de"]
    assert coarse["alpha"] != 0.7 and max(coarse["dev"].values()) < 100


def test_the_shift_leads_from_the_tested_language_to_the_source(predictor, monkeypatch):
    """SPEC G15: ``alpha D_{L->en}`` is added, ``D = R_en - R_L``."""
    added = []

    def note(encoder, layer, vector, option):
        added.append((layer, vector))
        return shifting(encoder, layer, vector, option)

    monkeypatch.setattr(module, "shifting", note)
    scores(predictor, "0.5")
    english, german = (language_mean(predictor, lang, 1, 40) for lang in ("en", "de"))
    ((layer, vector),) = added
    assert layer == 1 and float(vector.norm()) > 1
    torch.testing.assert_close(vector, 0.5 * (english - german))


def test_the_mean_is_that_of_all_tokens_that_are_not_special(predictor):
    total, count = torch.zeros(16, dtype=torch.double), 0
    for ids in predictor.text:
        row = torch.as_tensor(ids)[None]
        row = torch.cat([torch.tensor([[0]]), row], 1)
        src = {"tokens": row, "langs": torch.ones_like(row), "positions": torch.arange(8)[None]}
        with torch.no_grad():
            layer = predictor.model.encoder.states(src, ("de", "de"))[1][0]
        total += layer[1:-1].double().sum(0)
        count += len(ids) - 1
    found = language_mean(predictor, "de", 1, 10_000)
    torch.testing.assert_close(found, (total / count).float())


@pytest.fixture
def trained(tmp_path):
    """``trained("a", 1, [50, 60])``: a model of that setting and seed, accuracy on dev by epoch."""

    def make(setting, seed, curve):
        log = tmp_path / f"{setting}{seed}.log"
        lines = [
            f"now | INFO | valid | {json.dumps({'valid_accuracy': str(v), 'valid_num_updates': n})}"
            for n, v in enumerate(curve, start=1)
        ]
        log.write_text("\n".join(lines), encoding="utf-8")
        return Trained(setting, seed, tmp_path, log)

    return make


def test_the_figure_of_a_model_is_that_of_its_best_epoch(trained):
    assert best_on_dev(trained("a", 1, [50, 70, 60]), "accuracy") == 70
    with pytest.raises(UserError, match="this training was never validated by 'f1'"):
        best_on_dev(trained("a", 1, [50]), "f1")


def test_settings_are_chosen_by_their_mean_over_seeds(trained):
    models = [
        *(trained("a", 1, [90]), trained("a", 2, [10])),
        *(trained("b", 1, [60]), trained("b", 2, [62])),
        *(trained("c", 1, [55]), trained("c", 2, [56])),
    ]
    assert choose(models, "accuracy", 2) == {"b": 61.0, "c": 55.5}
