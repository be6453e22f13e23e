"""Test with the states of a layer shifted towards the source language's.

Liu et al. (2020), "A Study of Cross-Lingual Ability and Language-specific Information in
Multilingual BERT", Section 4.3: XNLI, fine-tuned on English with the lower six layers frozen, is
tested with ``h' = h + alpha D`` instead of the states h of layer 6, where the mean difference
shift ``D`` (Section 4.1) points from the tested language to English. The paper does not state the
direction; here ``D = mean(source) - mean(target)``. It selects alpha for each language on its dev
set, as is done here unless alpha is given; the alphas to try are those of `alphas`. Means are over
the tokens of unannotated text. Freezing is `--freeze-layers`.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.language_mean import LanguageMean
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.errors import UserError
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.token_translation import shifting
from fairseq_xling.studies.transfer.alphas import parse_alphas
from fairseq_xling.studies.transfer.plan import Test
from fairseq_xling.tasks.predict import Predictor


@torch.no_grad()
def language_mean(predictor: Predictor, lang: str, layer: int, sentences: int) -> Tensor:
    """The mean (D,) of a layer's states over the tokens of the folder's validation text.

    Special symbols are excluded. Layers are those of `Encoder.states`: a TRILayer is one of them.

    Raises:
        UserError: if there is no such layer, or no text.
    """
    task, last = predictor.task, predictor.model.encoder.depth
    if not 1 <= layer <= last:
        raise UserError(f"`--shift-layer` must lie in [1, {last}], got {layer}")
    file = task.folder.mono("valid", lang)
    number = min(sentences, len(file))
    chosen = np.linspace(0, len(file) - 1, number).round().astype(int)
    reader = Encoder(predictor.model, task, predictor.device)
    mean = LanguageMean()
    for _, batch in reader.batches([file[i] for i in chosen], lang):
        src = batch["net_input"]["src"]
        states = predictor.model.encoder.states(src, (lang, lang))[layer]
        mean.add(states[None], src["tokens"] >= SPECIALS)
    if not mean.count:
        raise UserError(f"{task.folder.path}: has no validation text of {lang!r} for its mean")
    return mean.value()[0].float()


def test_shifted(
    predictor: Predictor,
    tests: Sequence[Test],
    source: str,
    dev: Mapping[str, Path],
    shift: Mapping[str, Any],
    metric: str,
) -> dict[str, Any]:
    """Scores of every target with its states shifted, by `Test.label`, each with its alpha."""
    layer, sentences = shift["layer"], shift["sentences"]
    centre, found = language_mean(predictor, source, layer, sentences), {}
    for test in tests:
        if test.reads == source:
            continue
        vector = centre - language_mean(predictor, test.reads, layer, sentences)
        alpha, curve = _alpha(predictor, test, vector, dev, shift, metric)
        with _shifted(predictor, layer, alpha * vector):
            one = predictor.predict(test.reads, test.path)
        found[test.label] = {"alpha": alpha, "dev": curve, "scores": one.scores}
    return found


def _alpha(
    predictor: Predictor,
    test: Test,
    vector: Tensor,
    dev: Mapping[str, Path],
    shift: Mapping[str, Any],
    metric: str,
) -> tuple[float, dict[str, float]]:
    if shift["alpha"] != "auto":
        return float(shift["alpha"]), {}
    curve = {}
    for alpha in parse_alphas(shift["alphas"]):
        with _shifted(predictor, shift["layer"], alpha * vector):
            scores = predictor.predict(test.reads, dev[test.lang]).scores
        if metric not in scores:
            raise UserError(f"`--shift-dev` {dev[test.lang]}: nothing in it is annotated")
        curve[alpha] = scores[metric]
    best = max(curve, key=lambda alpha: curve[alpha])
    return best, {f"{alpha:g}": value for alpha, value in curve.items()}


def _shifted(predictor: Predictor, layer: int, vector: Tensor) -> AbstractContextManager[None]:
    return shifting(predictor.model.encoder, layer, vector, "--shift-layer")
