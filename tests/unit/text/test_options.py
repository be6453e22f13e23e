import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.text.options import PrepareOptions, parse_segmentation


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alphabet": 1}, "`--alphabet` must be at least 2, got 1"),
        ({"vocab_alpha": float("nan")}, "`--vocab-alpha` must be finite, got nan"),
        ({"vocab": "jiont"}, "unknown vocabulary mode 'jiont'; did you mean 'joint'"),
        ({"many_to_one": "lowst"}, "`--many-to-one`.*unknown rule 'lowst'; did you mean 'lowest'"),
    ],
)
def test_values_out_of_range_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        PrepareOptions(languages=("en",), **changes)


def test_links_connect_subwords_for_the_aligner_and_words_in_files_unless_told():
    options = PrepareOptions(languages=("en",))
    assert (options.aligner_unit, options.file_unit) == ("subword", "word")
    for unit in ("subword", "word"):
        told = PrepareOptions(languages=("en",), align_unit=unit)
        assert (told.aligner_unit, told.file_unit) == (unit, unit)


def test_segmentations_are_named_by_language():
    chosen = parse_segmentation(["zh=char,en=space"], ["en", "de", "zh"])
    assert chosen == {"en": "space", "de": "pre", "zh": "char"}
    assert parse_segmentation([], ["en"]) == {"en": "pre"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("char", "`--segment` must look like zh=char, got 'char'"),
        ("fr=char", "`--segment` fr=char: unknown language 'fr'"),
        ("zh=chars", "unknown segmentation 'chars'; did you mean 'char'"),
        ("zh=char,zh=pre", "`--segment` names language 'zh' twice"),
    ],
)
def test_a_segmentation_that_does_not_fit_is_refused(text, message):
    with pytest.raises(UserError, match=message):
        parse_segmentation([text], ["en", "zh"])
