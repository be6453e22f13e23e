import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.training.config import parse_weights


@pytest.mark.parametrize("item", ["mlm=-1", "mlm=", "mlm", "mlm=nan"])
def test_a_weight_must_be_a_number_of_at_least_zero(item):
    with pytest.raises(UserError, match="`--w` must be name=number with numbers >= 0, got"):
        parse_weights("--w", item, ["mlm"])


def test_a_weight_for_an_objective_that_is_not_in_use_is_refused():
    with pytest.raises(UserError, match="unknown objective 'mlmm'; did you mean 'mlm'"):
        parse_weights("--w", "mlmm=1", ["mlm"])
