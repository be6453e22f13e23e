import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine.training_log import parameter_count, progress, read_curves, read_records

LOG = """\
2024-01-01 10:00:00 | INFO | fairseq_cli.train | num. shared model params: 1,234,567 (num. trained)
2024-01-01 10:00:01 | INFO | train_inner | {"epoch": 1, "loss": "9.5", "num_updates": "50"}
2024-01-01 10:00:02 | INFO | train_inner | {"epoch": 1, "loss": "8.5", "num_updates": "100"}
2024-01-01 10:00:02 | INFO | valid | {"epoch": 1, "valid_loss": "8", "valid_mlm_en_ppl": "300.5", \
"valid_num_updates": "100"}
2024-01-01 10:00:03 | INFO | train_inner | {"epoch": 1, "loss": "8.4", "num_updates": "100"}
2024-01-01 10:00:03 | INFO | train | {"epoch": 1, "train_loss": "9.0", "train_wall": "x", \
"train_num_updates": "100"}
2024-01-01 10:00:04 | INFO | train_inner | {"epoch": 1, "loss": "7.9", "num_upd"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(LOG)
    return path


def test_curves_hold_numbers_by_update_and_the_later_line_wins(log):
    assert read_curves(log, "train_inner")["loss"] == [(50, 9.5), (100, 8.4)]
    valid = read_curves(log, "valid")  # whose prefix is removed
    assert (valid["mlm_en_ppl"], valid["loss"]) == ([(100, 300.5)], [(100, 8.0)])
    assert "wall" not in read_curves(log, "train")  # no number
    with pytest.raises(UserError, match="no such training log"):
        read_curves(log.with_name("none"), "train")


def test_a_half_written_line_is_skipped(log):
    tags = [tag for tag, _ in read_records(log)]
    assert tags == ["train_inner", "train_inner", "valid", "train_inner", "train"]


def test_the_parameter_count_is_read_or_missed(log):
    assert parameter_count(log) == 1234567
    log.write_text("nothing")
    with pytest.raises(UserError, match="has no parameter count"):
        parameter_count(log)


def test_progress_names_the_last_step_and_loss_and_the_end_if_there_is_one(log):
    assert progress(log, 2000) == "step 100/2,000, loss 8.4"
    log.write_text('x | INFO | train_inner | {"num_updates": "1200", "loss": "4.2"}\n')
    assert progress(log, 0) == "step 1,200, loss 4.2"
    log.write_text("")
    assert progress(log, 2000) == "starting"
