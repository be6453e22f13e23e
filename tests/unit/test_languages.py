import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.languages import parse_languages, parse_pair


def test_the_order_given_is_kept_and_blanks_are_not():
    assert parse_languages(" zh_Hans, en,de2 ") == ["zh_Hans", "en", "de2"]


def test_a_language_named_twice_is_refused():
    with pytest.raises(UserError) as caught:
        parse_languages("en,de, en")
    assert str(caught.value) == "`--languages`: language 'en' is named twice in 'en,de, en'"


@pytest.mark.parametrize(
    ("text", "code"),
    [("", ""), ("en,", ""), ("en-de", "en-de"), ("en,../de", "../de"), ("2en",) * 2],
)
def test_a_code_that_could_not_stand_in_a_file_name_is_refused(text, code):
    with pytest.raises(UserError) as caught:
        parse_languages(text)
    assert str(caught.value) == (
        f"`--languages`: language code {code!r} in {text!r} must be letters, digits or '_', "
        "starting with a "
        "letter"
    )


def test_a_pair_keeps_its_direction():
    assert parse_pair("de-en") == ("de", "en")


@pytest.mark.parametrize("text", ["en", "en-de-fr", "en,de", "en,de-fr", "", "-"])
def test_a_pair_is_two_codes_and_one_hyphen(text):
    with pytest.raises(UserError, match=r"must be"):
        parse_pair(text)


def test_a_pair_of_a_language_with_itself_is_refused_in_the_users_words():
    with pytest.raises(UserError) as caught:
        parse_pair("en-en")
    assert str(caught.value) == "language pair 'en-en' names one language twice"


def test_the_one_code_that_torch_itself_sets_on_modules_is_refused():
    with pytest.raises(UserError, match="language code 'training' in 'en,training' is taken"):
        parse_languages("en,training")
