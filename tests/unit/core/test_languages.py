import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.languages import parse_languages, parse_pair


def test_order_and_direction_are_kept_and_blanks_are_not():
    assert parse_languages(" zh_Hans, en,de2 ") == ["zh_Hans", "en", "de2"]
    assert parse_pair("de-en") == ("de", "en")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("en,de, en", "`--languages`: language 'en' is named twice in 'en,de, en'"),
        ("en,training", "`--languages`: language code 'training' in 'en,training' is taken"),
        ("", "`--languages`: language code '' in '' must be letters, digits or '_', starting with"),
        ("en-de", "`--languages`: language code 'en-de' in 'en-de' must be letters, digits or"),
        ("2en", "`--languages`: language code '2en' in '2en' must be letters, digits or"),
        ("en,../de", "`--languages`: language code '../de' in 'en,../de' must be letters, digits"),
    ],
)
def test_a_code_that_could_not_stand_in_a_file_name_is_refused(text, message):
    with pytest.raises(UserError) as caught:
        parse_languages(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["en", "en-de-fr", "en,de", "en,de-fr", "", "-", "en-en"])
def test_a_pair_is_two_different_codes_and_one_hyphen(text):
    own = text == "en-en"
    message = f"language pair '{text}' names one language twice" if own else "must be"
    with pytest.raises(UserError, match=message):
        parse_pair(text)
