import pytest

from fairseq_xling.engine import reading


def test_a_checkpoint_that_does_not_fit_its_model_is_one_line_and_other_errors_stay_whole():
    def load(filenames, error):
        raise error

    wrapped = reading._one_line_build(load)
    mismatch = RuntimeError("Error(s) in loading state_dict for Roberta:\n\tsize mismatch for x.")
    with pytest.raises(
        SystemExit, match=r"a\.pt: does not fit its model \(size mismatch for x"
    ) as e:
        wrapped(["a.pt"], mismatch)
    assert "\n" not in str(e.value)
    with pytest.raises(RuntimeError, match="out of memory"):
        wrapped(["a.pt"], RuntimeError("out of memory"))
