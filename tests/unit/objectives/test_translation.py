"""The objective without word alignments, for models that find the order themselves."""

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives.cdlm import CrossLingualLM
from fairseq_xling.objectives.translation import Translation
from tests.framed_rows import side

VOCABULARY = Vocabulary({"en": 30, "de": 30}, {"en": 0, "de": 1})


def test_it_is_cdlm_without_an_order(options):
    rng = np.random.default_rng(1)
    sides = side([7, 8, 9], "en"), side([20, 21], "de")
    found = Translation(options(), VOCABULARY)(Row(*sides), rng)
    cdlm = CrossLingualLM(options(), VOCABULARY)(Row(*sides, np.array([0, 3, -1, 4])), rng)
    del cdlm.extra["kept"]  # of its order
    for one, other in ((found.src, cdlm.src), (found.tgt, cdlm.tgt), (found.extra, cdlm.extra)):
        assert one.keys() == other.keys()
        assert all((one[name] == other[name]).all() for name in one)
    assert found.order.tolist() == [-1, -1, -1, -1]


def test_it_needs_a_translation(options):
    with pytest.raises(UserError, match="objective 'translation' needs parallel text"):
        Translation(options(), VOCABULARY)(Row(side([7], "en")), np.random.default_rng(1))
