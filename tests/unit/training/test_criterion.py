"""The criterion with auxiliary losses; the language models' own: models/test_separable_..., P6."""

from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.models.auxiliary import Emitted, Prediction
from fairseq_xling.training.criterion import LOG2, UnifiedLMCriterion

VOCAB = 7


def make_task(auxiliary=("order", "nsp"), objectives=("cdlm", "mlm"), weights=None):
    return SimpleNamespace(
        objective_names=list(objectives),
        objective_weights=weights or {},
        languages=["en", "de"],
        auxiliary_names=list(auxiliary),
    )


class FakeModel:
    """Given logits and auxiliary (loss sum, count); what the criterion does with them is tested."""

    def __init__(self, auxiliary, predicted=5):
        torch.manual_seed(1)
        self.logits = torch.randn(predicted, VOCAB, requires_grad=True)
        self.auxiliary = {
            name: (torch.tensor(float(total), requires_grad=True), torch.tensor(count))
            for name, (total, count) in auxiliary.items()
        }

    def __call__(self, **net_input):
        return Prediction(self.logits, self.auxiliary)


def sample(predicted=5):
    """Three rows, the first of CdLM; all predicted words are German."""
    predict = torch.zeros(3, 4, dtype=torch.bool)
    predict.view(-1)[:predicted] = True
    target = torch.arange(12).view(3, 4) % VOCAB
    tgt = {"predict": predict, "langs": torch.ones(3, 4, dtype=torch.long)}
    return {
        "net_input": {"tgt": tgt},
        "target": target,
        "objective": torch.tensor([0, 1, 1]),
        "ntokens": 12,
        "nsentences": 3,
    }


def language_loss(model, batch):
    predict = batch["net_input"]["tgt"]["predict"]
    log_probs = model.logits.log_softmax(-1)
    targets = batch["target"][predict].tolist()
    return -sum(log_probs[n, word] for n, word in enumerate(targets))


def test_a_translation_as_a_whole_counts_its_tokens():
    """Rows 0 and 2 are translations, of 4 tokens and of 3, of which one does not fit."""
    model, batch = FakeModel({}, predicted=0), sample(0)
    batch["objective"] = torch.tensor([0, 1, 0])
    emitted = Emitted(torch.tensor([0, 2]), torch.tensor([6.0, 0.0]), torch.tensor([5, 0]))

    def step(**net_input):
        return model(**net_input)._replace(emitted=emitted, plain=(torch.tensor(7.0), 5))

    loss, size, logs = UnifiedLMCriterion(make_task([]))(step, batch)
    assert (float(loss.detach()), int(size), int(logs["unfit"])) == (6.0, 5, 1)
    assert (float(logs["cdlm_de_nll"]), float(logs["cdlm_de_count"])) == (6.0, 5.0)
    found = reduced([logs, logs])
    assert found["cdlm_de_loss"] == found["loss"] == pytest.approx(6 / 5 / LOG2, abs=1e-3)
    assert found["plain_loss"] == pytest.approx(7 / 5 / LOG2, abs=1e-3)


def test_each_heads_mean_stands_beside_the_language_models_mean():
    """The trainer divides by 5 predicted words; the heads count 8 and 2 examples of their own."""
    model, batch = FakeModel({"order": (12.0, 8), "nsp": (3.0, 2)}), sample()
    criterion = UnifiedLMCriterion(make_task(), auxiliary_weights="order=0.5")
    loss, size, logs = criterion(model, batch)
    assert size == logs["sample_size"] == 5
    expected = language_loss(model, batch).item() / 5 + 0.5 * 12 / 8 + 1.0 * 3 / 2
    assert loss.item() / size == pytest.approx(expected, rel=1e-6)
    # The loss that is logged as such stays the language model's.
    assert float(logs["loss"]) == pytest.approx(language_loss(model, batch).item(), rel=1e-6)
    assert (float(logs["order_nll"]), int(logs["order_count"])) == (12.0, 8)
    assert (float(logs["nsp_nll"]), int(logs["nsp_count"])) == (3.0, 2)


def test_gradients_of_heads_are_weighted_means_too():
    model = FakeModel({"order": (12.0, 8)})
    criterion = UnifiedLMCriterion(make_task(["order"]), auxiliary_weights="order=3")
    loss, size, _ = criterion(model, sample())
    (loss / size).backward()
    assert model.auxiliary["order"][0].grad.item() == pytest.approx(3 / 8)


@pytest.mark.parametrize(("weights", "given"), [("order=0", (12.0, 8)), ("", (0.0, 0))])
def test_a_head_without_weight_or_examples_costs_nothing_and_is_logged(weights, given):
    model, batch = FakeModel({"order": given}), sample()
    criterion = UnifiedLMCriterion(make_task(["order"]), auxiliary_weights=weights)
    loss, _, logs = criterion(model, batch)
    assert loss.item() == pytest.approx(language_loss(model, batch).item(), rel=1e-6)
    assert (float(logs["order_nll"]), int(logs["order_count"])) == given


def test_per_sentence_both_kinds_of_loss_keep_their_proportion():
    model, batch = FakeModel({"order": (12.0, 8)}), sample()
    by_token, tokens, _ = UnifiedLMCriterion(make_task(["order"]))(model, batch)
    by_sentence, sentences, _ = UnifiedLMCriterion(make_task(["order"]), sentence_avg=True)(
        model, batch
    )
    assert by_token.item() == by_sentence.item() and (tokens, sentences) == (5, 3)


def test_every_step_has_the_same_keys_whatever_was_in_it():
    criterion = UnifiedLMCriterion(make_task())
    full = criterion(FakeModel({"order": (1.0, 2), "nsp": (1.0, 1)}), sample())[2]
    empty = criterion(FakeModel({"order": (0.0, 0), "nsp": (0.0, 0)}, 0), sample(0))[2]
    assert list(full) == list(empty)
    expected = {f"{o}_{lang}" for o in ("cdlm", "mlm") for lang in ("en", "de")}
    expected |= {"order", "nsp", "plain"}
    assert {key.removesuffix("_nll") for key in full if key.endswith("_nll")} == expected
    assert {key.removesuffix("_count") for key in full if key.endswith("_count")} == expected


def reduced(logs):
    from fairseq.logging import metrics

    with metrics.aggregate(new_root=True) as found:
        UnifiedLMCriterion.reduce_metrics(logs)
    return found.get_smoothed_values()


def test_heads_have_loss_and_perplexity_of_their_own_in_bits_over_all_workers():
    criterion = UnifiedLMCriterion(make_task())
    logs = [
        criterion(FakeModel({"order": (total, count), "nsp": (0.0, 0)}), sample())[2]
        for total, count in ((12.0, 8), (3.0, 2), (0.0, 0))
    ]
    found = reduced(logs)
    assert found["order_loss"] == pytest.approx(15 / 10 / LOG2, abs=1e-3)
    assert found["order_ppl"] == pytest.approx(2 ** (15 / 10 / LOG2), abs=0.01)
    assert "nsp_loss" not in found  # nothing of it in this step


def test_what_validation_reports_of_heads_may_be_named_as_the_best_metric():
    names = UnifiedLMCriterion(make_task()).metric_names
    assert {"order_loss", "nsp_ppl", "cdlm_de_ppl", "loss"} <= set(names)
    assert "length_loss" not in names


class Doubled(UnifiedLMCriterion):
    layers = (0, 2)

    def losses(self, output, sample):
        self.seen = output
        return 2 * output.nll + output.states[2].mean()


def test_an_own_criterion_reads_logits_and_states_of_the_step():
    model, batch = FakeModel({}), sample()
    states = {0: torch.zeros(3, 4, 2), 2: torch.full((3, 4, 2), 0.5)}
    asked = []

    def step(layers, **net_input):
        asked.append(layers)
        return model(**net_input)._replace(states=states)

    criterion = Doubled(make_task([], weights={"cdlm": 0.5}))
    loss, _, logs = criterion(step, batch)
    assert asked == [(0, 2)]  # one pass
    assert criterion.seen.logits is model.logits and criterion.seen.states is states
    predict = batch["net_input"]["tgt"]["predict"]
    assert criterion.seen.target.tolist() == batch["target"][predict].tolist()
    plain, _, plain_logs = UnifiedLMCriterion(make_task([], weights={"cdlm": 0.5}))(model, batch)
    # Four predictions are of the row of CdLM, one of the next.
    assert loss.item() == pytest.approx(2 * plain.item() + 0.5 * (4 * 0.5 + 1), rel=1e-6)
    assert float(logs["loss"]) == pytest.approx(float(plain_logs["loss"]))
    assert set(logs) - set(plain_logs) == {"own_nll", "own_count"}
    assert float(logs["own_nll"]) == pytest.approx(2 * language_loss(model, batch).item() + 2.5)
    assert {"own_loss", "own_ppl"} <= set(criterion.metric_names)


def test_an_own_criterion_that_returns_another_shape_is_one_line():
    class Mean(UnifiedLMCriterion):
        def losses(self, output, sample):
            return output.nll.mean()

    line = r"`Mean.losses` must return one loss for each prediction, \(5,\), got \(\)"
    with pytest.raises(SystemExit, match=line):
        Mean(make_task([]))(FakeModel({}), sample())


def test_a_head_that_returns_no_pair_is_one_line():
    model = FakeModel({})
    model.auxiliary = {"nsp": torch.tensor(3.0)}
    with pytest.raises(SystemExit, match=r"auxiliary head 'nsp' must return the sum of its losses"):
        UnifiedLMCriterion(make_task())(model, sample())
