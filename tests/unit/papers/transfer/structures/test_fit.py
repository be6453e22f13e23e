"""Training: what each representation can tell, repeatability, and resuming."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.metrics import precision_recall_fscore_support

from fairseq_xling.core.errors import UserError
from fairseq_xling.papers.transfer.structures import fit as module
from fairseq_xling.papers.transfer.structures.batch import Examples
from fairseq_xling.papers.transfer.structures.data import FitSettings, ModelSettings
from fairseq_xling.papers.transfer.structures.features import Tables, Words
from fairseq_xling.papers.transfer.structures.fit import fit, micro_scores, predict
from fairseq_xling.papers.transfer.structures.model import StructureModel
from fairseq_xling.papers.transfer.structures.sentence import RELATIONS, Link, Mention, Sentence

CHOSEN = ("word", "pos", "entity", "relation")
SMALL = ModelSettings(width=24, hidden=24, embedding=8, dropout=0.1)
QUICK = FitSettings(optimizer="adam", lr=5e-3, epochs=12, batch_size=10, patience=5)
CPU = torch.device("cpu")


def toy(decides, count, seed):
    """a - verb - b: one representation of the verb or of b decides between the labels; the others
    are drawn at random."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        drawn = dict(zip(CHOSEN, rng.integers(2, size=4).tolist(), strict=True))
        label = "AB"[drawn[decides]]
        found.append(
            Sentence(
                "toy", 1, "1",
                ("a", f"verb{drawn['word']}", "b"),
                ("NOUN", f"POS{drawn['pos']}", "NOUN"),
                (2, 0, 2),
                ("nsubj", "root", f"rel{drawn['relation']}"),
                (Mention(0, 1, "X"), Mention(2, 3, f"TYPE{drawn['entity']}")),
                relations=(Link(0, 1, label),),
                pairs=((0, 1),),
            )
        )  # fmt: skip
    return found


def examples(sentences, tables, chosen):
    names = ["", "a", "b", "verb0", "verb1"]
    table = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
    table[0] = 0
    table = table if "word" in chosen else table[:, :0]
    rows = [np.array([names.index(word) for word in one.words]) for one in sentences]
    candidates = [RELATIONS.candidates(one) for one in sentences]
    return Examples(sentences, candidates, [Words(table, rows)], tables, ["NONE", "A", "B"])


def trained(decides, chosen, settings=QUICK, model=SMALL, **keywords):
    train, dev = toy(decides, 160, 1), toy(decides, 80, 2)
    tables = Tables.of(train, chosen)
    rows = {name: 1 + len(names) for name, names in tables.names.items()}

    def make():
        return StructureModel(6 if "word" in chosen else 0, rows, 3, model)

    gold = [one.relations[0].label for one in dev]
    found = fit(
        make, examples(train, tables, chosen), examples(dev, tables, chosen), gold,
        ["NONE", "A", "B"], settings, CPU, **keywords,
    )  # fmt: skip
    return *found, examples(toy(decides, 200, 3), tables, chosen)


def accuracy(model, test, decides):
    gold = [one.relations[0].label for one in toy(decides, 200, 3)]
    labels = ["NONE", "A", "B"]
    return micro_scores([labels[int(own[0])] for own in predict(model, test)], gold).f1


@pytest.mark.parametrize("decides", CHOSEN)
def test_each_representation_decides_what_only_it_can_tell(decides):
    model, _, test = trained(decides, CHOSEN)
    assert accuracy(model, test, decides) >= 0.98
    others = tuple(name for name in CHOSEN if name != decides)
    model, _, test = trained(decides, others, dataclasses.replace(QUICK, epochs=4))
    assert accuracy(model, test, decides) < 0.6  # chance is one half


def same(one, other):
    return all(torch.equal(x, y) for x, y in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_two_trainings_are_identical_and_leave_the_global_generator_alone(optimizer):
    settings = FitSettings(optimizer=optimizer, epochs=3)
    torch.manual_seed(1)
    one, done, _ = trained("pos", CHOSEN, settings)
    drawn = torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(3))
    torch.manual_seed(2)
    np.random.seed(5)
    other, again, _ = trained("pos", CHOSEN, settings)
    assert same(one, other) and done == again
    assert not same(one, trained("pos", CHOSEN, dataclasses.replace(settings, seed=2))[0])


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_training_killed_after_any_epoch_resumes_with_the_same_result(
    tmp_path, monkeypatch, optimizer
):
    settings = FitSettings(optimizer=optimizer, epochs=4, decay_from=0)
    expected, whole, _ = trained("entity", CHOSEN, settings)
    monkeypatch.setattr(module, "_EVERY", 0)
    state = tmp_path / "state"
    for last in (1, 3):
        seen = []

        def passed(f1, seen=seen, last=last):
            seen.append(f1)
            if len(seen) == last:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            trained("entity", CHOSEN, settings, state=state, passed=passed)
        assert state.is_file()
        seen = []
        found, done, _ = trained("entity", CHOSEN, settings, state=state, passed=seen.append)
        assert same(found, expected) and done == whole and seen == whole.curve
        assert not state.exists()


def test_a_state_of_other_settings_is_not_used_and_a_damaged_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_EVERY", 0)
    state = tmp_path / "state"

    def passed(f1):
        raise KeyboardInterrupt

    for seed in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            settings = FitSettings(epochs=2, seed=seed)
            trained("pos", CHOSEN, settings, state=state, passed=passed)
    expected = trained("pos", CHOSEN, FitSettings(epochs=2))[0]
    assert same(trained("pos", CHOSEN, FitSettings(epochs=2), state=state)[0], expected)
    state.write_bytes(b"no state")
    with pytest.raises(UserError, match="not a safetensors file, or damaged"):
        trained("pos", CHOSEN, FitSettings(epochs=2), state=state)


def after(monkeypatch, f1, **settings):
    """Where a training is that has reached ``f1`` on dev in its epochs."""
    found = iter(f1)
    monkeypatch.setattr(module, "micro_scores", lambda *_: SimpleNamespace(f1=next(found)))
    return trained("pos", CHOSEN, FitSettings(**settings))[1]


def test_the_rate_of_sgd_falls_after_epochs_without_a_higher_f1(monkeypatch):
    settings = {"epochs": 6, "decay_from": 2, "decay": 0.5, "patience": 10}
    done = after(monkeypatch, [0.5, 0.4, 0.4, 0.6, 0.6, 0.6], **settings)
    assert done.lr == 0.1 * 0.5**3  # after epochs 3, 5 and 6; the second is too early
    assert done.best == 4


def test_training_ends_when_patience_does(monkeypatch):
    done = after(monkeypatch, [0.5, 0.6, 0.6, 0.1, 0.1], epochs=50, patience=3)
    assert (done.epoch, done.best) == (5, 2)


def test_a_loss_that_diverges_is_one_line(monkeypatch):
    monkeypatch.setattr(module.F, "cross_entropy", lambda logits, labels: logits.sum() * torch.nan)
    message = "`--lr` must be lower: the loss of epoch 1 is not finite with 0.1"
    with pytest.raises(UserError, match=message):
        trained("pos", CHOSEN, FitSettings(epochs=3))


def test_scores_equal_those_of_scikit_learn_where_nothing_is_found_or_annotated_too():
    rng = np.random.default_rng(1)
    names, shares = ["NONE", "A", "B", "C"], [0.5, 0.3, 0.1, 0.1]
    pairs = [rng.choice(names, (2, 40), p=shares).tolist() for _ in range(20)]
    nothing = ["NONE"] * 3
    for gold, predicted in [*pairs, (["A", "B", "NONE"], nothing), (nothing, "ABA"), [nothing] * 2]:
        found = micro_scores(list(predicted), gold)
        peer = precision_recall_fscore_support(
            gold, list(predicted), labels=["A", "B", "C"], average="micro", zero_division=0
        )
        np.testing.assert_allclose([found.precision, found.recall, found.f1], peer[:3], atol=1e-12)
