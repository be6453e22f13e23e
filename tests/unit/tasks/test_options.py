import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.heads.parsing import ParsingOptions
from fairseq_xling.tasks.heads.span_qa import SpanQaOptions
from fairseq_xling.tasks.options import change_options, parse_options


def test_what_counts_can_be_changed_after_training_and_the_rest_stays():
    trained = ParsingOptions(arc_dim=7, dropout=0.2)
    changed = change_options("punctuation=drop", trained)
    assert changed == ParsingOptions(arc_dim=7, dropout=0.2, punctuation="drop")
    assert change_options("", trained) == trained
    changed = change_options("null_threshold=2,stride=9", SpanQaOptions())
    assert changed == SpanQaOptions(null_threshold=2.0, stride=9)


@pytest.mark.parametrize(
    ("head", "text", "message"),
    [
        ("parsing", "arc_dim=9", "must be among those for reading and counting (punctuation), got"),
        ("pos", "dropout=0", "reading and counting (none of this head's), got 'dropout'"),
        ("parsing", "punctuation=x", "punctuation must be keep, drop or drop:TAG,TAG, got 'x'"),
        ("parsing", "PU,punctuation=drop:X", "`--head-options`: unknown setting 'PU'"),
        ("parsing", "punct=drop", "`--head-options`: unknown setting 'punct'; did you mean"),
    ],
)
def test_what_is_part_of_the_model_cannot(head, text, message):
    with pytest.raises(UserError) as error:
        change_options(text, heads[head].Options())
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("head", "text", "message"),
    [
        ("classification", "drop=0.5", ": unknown setting 'drop'; did you mean"),
        ("classification", "dropout=x", ": dropout must be of type float, got 'x'"),
        ("classification", "dropout=0,dropout=0", " must name 'dropout' once, got it twice"),
        ("multiple_choice", "first=a", ": first must be question or passage, got 'a'"),
        ("parsing", "arc_dim=0", ": arc_dim must be at least 1, got 0"),
        ("parsing", "dropout=1", ": dropout must lie in [0, 1), got 1"),
        ("parsing", "punctuation=drop:", ": punctuation must be keep, drop or drop:TAG,TAG, got"),
        ("parsing", "punctuation=keep:A", ": punctuation must be keep, drop or drop:TAG,TAG, got"),
        ("span_qa", "max_answer_tokens=-3", ": max_answer_tokens must be at least 1, got -3"),
        ("span_qa", "segmentation=mix", ": unknown segmentation of answers 'mix'; did you mean"),
        ("span_qa", "null_threshold=nan", ": null_threshold must be finite, got nan"),
        ("srl", "senses=maybe", ": senses must be no or yes, got 'maybe'"),
    ],
)
def test_settings_that_cannot_be_are_one_line(head, text, message):
    with pytest.raises(UserError) as error:
        parse_options(text, heads[head].Options)
    assert str(error.value).startswith(f"`--head-options`{message}")
