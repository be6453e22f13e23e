"""Encoders that a study is given: by language or pair, perhaps one for each seed."""

from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.studies.ready_encoders import ready_encoders


def test_one_file_may_serve_several_pairs_and_each_seed_may_have_its_own():
    both = ("en-de=m/{seed}.pt", "en-id=m/{seed}.pt", "fr=other.pt")
    ready = ready_encoders(both, ("en-de=data", "en-id=data", "fr=data"))
    assert list(ready) == ["en-de", "en-id", "fr"]
    for pair in ("en-de", "en-id"):
        assert ready[pair].of_seed(2) == (f"ready-{pair}-2", Path("m/2.pt"), Path("data"))
    assert ready["fr"].of_seed(2) == ("ready-fr", Path("other.pt"), Path("data"))


@pytest.mark.parametrize(
    ("encoder", "data", "message"),
    [
        (("en",), (), "`--encoder` must be LANG=PATH, got 'en'"),
        (("en=x",), ("en=",), "`--data` must be LANG=PATH, got 'en='"),
        (("en=x",), ("de=x",), "`--encoder` and `--data` must both name"),
    ],
)
def test_what_is_no_pair_of_file_and_folder_is_refused(encoder, data, message):
    with pytest.raises(UserError, match=message):
        ready_encoders(encoder, data)
