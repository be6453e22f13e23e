from pathlib import Path

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.transfer.study.plan import Encoder, encoders, matrix, zero_shot


def test_encoders_have_names_and_a_folder(config):
    path, data = Path("models/best.pt"), Path("data")
    assert encoders(config()) == [Encoder("models", path, data)]
    several = config(
        encoder=("one=models/best.pt", "two=models/best.pt"),
        scratch=("models/best.pt",),
        data=("one=data", "two=other", "scratch=data"),
    )
    assert encoders(several) == [
        Encoder("one", path, data),
        Encoder("two", path, Path("other")),
        Encoder("scratch", path, data, scratch=True),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": ("none.pt",)}, "`--encoder` none.pt: no such checkpoint"),
        ({"encoder": ("=models/best.pt",)}, "`--encoder` must look like NAME=PATH, got"),
        ({"encoder": ("models/best.pt",) * 2}, "two encoders are called 'models'; name them"),
        (
            {"encoder": ("x=models/best.pt",), "data": ("a=data", "b=data")},
            "`--data` must say which folder is 'x''s, as in x=DATA",
        ),
    ],
)
def test_unclear_encoders_are_refused(config, changes, message):
    with pytest.raises(UserError) as error:
        encoders(config(**changes))
    assert message in str(error.value)


def test_zero_shot_is_one_model_for_all_tests(config):
    (one,) = zero_shot(config())
    assert one.train == (("en", Path("en.train")),) and one.valid == (("en", Path("en.dev")),)
    assert [(test.lang, test.reads) for test in one.tests] == [("en", "en"), ("de", "de")]


def test_a_translated_test_is_read_as_the_source_language_by_the_same_model(config):
    plain, translated = zero_shot(config(translate_test=("de=en.test",)))
    assert (plain.name, translated.name) == ("zero-shot", "zero-shot")
    (test,) = translated.tests
    assert (test.lang, test.reads, translated.how) == ("de", "en", "translate-test")


def test_a_translated_training_file_has_a_model_of_its_own(config):
    _, own = zero_shot(config(translate_train=("de=en.train",)))
    assert own.train == (("de", Path("en.train")),)
    assert own.valid == (("en", Path("en.dev")),)  # dev stays the source language's
    assert [test.lang for test in own.tests] == ["de"]
    with pytest.raises(UserError, match="`--translate-train` fr: there is no `--test` of this"):
        zero_shot(config(translate_train=("fr=en.train",)))


def test_a_matrix_has_a_model_for_each_training_language(config):
    sets = matrix(config(train=("en=en.train", "de=de.test"), valid=("en=en.dev", "de=en.dev")))
    assert [one.train[0][0] for one in sets] == ["en", "de"]
    assert all([test.lang for test in one.tests] == ["en", "de"] for one in sets)
    with pytest.raises(UserError, match="`--valid` must have a file of 'de', which is trained on"):
        matrix(config(train=("de=de.test",)))


def test_missing_and_doubled_files_are_named(config):
    with pytest.raises(UserError, match="`--train` none: no such file"):
        zero_shot(config(train=("en=none",)))
    with pytest.raises(UserError, match="`--test` has two files of language 'en'"):
        zero_shot(config(test=("en=en.test", "en=en.dev")))
