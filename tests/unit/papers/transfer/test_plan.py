from pathlib import Path

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.identity import encode_identity
from fairseq_xling.papers.transfer import plan
from fairseq_xling.papers.transfer.plan import (
    Encoder,
    TrainSet,
    check_languages,
    check_layers,
    encoders,
    matrix,
    shift_dev,
    zero_shot,
)


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
        ({"data": ("a=data", "a=models")}, "`--data` names one folder twice, got a=data, a=models"),
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


def test_further_test_sets_are_named_before_the_language(config):
    test = ("en=en.test", "test1.de=de.test", "de=de.test,test12.en=en.test")
    (one,) = zero_shot(config(test=test))
    assert [test.label for test in one.tests] == ["en", "test1.de", "de", "test12.en"]
    assert [test.reads for test in one.tests] == ["en", "de", "de", "en"]
    _, own = zero_shot(config(test=test, translate_train=("de=en.train",)))
    assert [test.label for test in own.tests] == ["test1.de", "de"]
    _, own = zero_shot(config(test=test, translate_test=("test1.de=en.test",)))
    assert [(test.label, test.reads) for test in own.tests] == [("test1.de", "en")]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (
            ("de=de.test", "de=en.test"),
            "`--test` has two files of language 'de'; name a further set, as in test1.de=FILE",
        ),
        (
            ("test1.de=de.test", "test1.de=en.test"),
            "`--test` has two files of language 'de' in the set test1; name a further set",
        ),
        (
            ("valid.de=de.test",),
            "`--test` valid.de: split must be test, also with a number, as in test1, got 'valid'",
        ),
        (("test01x.de=de.test",), "got 'test01x'; did you mean 'test1' or 'test'?"),
        (("test1.de",), "`--test` must look like en=FILE, got 'test1.de'"),
        (("test1.=de.test",), "language code ''"),
        (("test1.de=none",), "`--test` none: no such file"),
    ],
)
def test_unclear_test_sets_are_refused(config, test, message):
    with pytest.raises(UserError) as error:
        zero_shot(config(test=test))
    assert message in str(error.value)


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
    with pytest.raises(UserError, match="`--train` has two files of language 'en'"):
        matrix(config(train=("en=en.train", "en=en.dev")))


def test_no_target_language_chooses(config):
    with pytest.raises(
        UserError, match=r"`--valid` must be in a language of `--train` \(en\), got"
    ):
        zero_shot(config(valid=("en=en.dev", "de=de.test")))


def test_shifted_targets_need_their_dev_file_before_anything_runs(config):
    chosen = config(shift_layer=1, shift_dev=("de=de.test",))
    assert shift_dev(chosen, zero_shot(chosen)) == (("de", Path("de.test")),)
    other = config(shift_layer=1, shift_dev=("en=en.dev",))
    with pytest.raises(UserError, match="`--shift-dev` must have a file of 'de'"):
        shift_dev(other, zero_shot(other))
    missing = config(shift_layer=1, shift_dev=("de=none",))
    with pytest.raises(UserError, match="`--shift-dev` none: no such file"):
        shift_dev(missing, zero_shot(missing))
    assert shift_dev(config(shift_layer=1, shift_alpha="1"), zero_shot(chosen)) == ()


def test_missing_and_doubled_files_are_named(config):
    with pytest.raises(UserError, match="`--train` none: no such file"):
        zero_shot(config(train=("en=none",)))
    with pytest.raises(UserError, match="`--test` has two files of language 'en'"):
        zero_shot(config(test=("en=en.test", "en=en.dev")))


def test_a_language_that_an_encoder_does_not_read_is_refused(words_folder):
    def check(**languages):
        sets = TrainSet(
            "zero-shot",
            ((languages["train"], Path("a")),),
            (("en", Path("b")),),
            (plan.Test(languages["test"], languages["test"], Path("c")),),
        )
        check_languages([Encoder("x", Path("x.pt"), words_folder)], [sets])

    check(train="en", test="de")
    for languages in ({"train": "en", "test": "fr"}, {"train": "fr", "test": "de"}):
        with pytest.raises(UserError, match=r"unknown language of .*data 'fr'; known: en, de"):
            check(**languages)


@pytest.mark.parametrize(
    ("option", "name", "deepest"), [("freeze_layers", "freeze", 2), ("shift_layer", "shift", 3)]
)
def test_layers_that_an_encoder_has_not_are_refused(config, option, name, deepest):
    state = {
        "cfg": {
            "model": {"_name": "separable_transformer", "separate": "", "encoder_layers": 2},
            "task": {"_name": "bilingual_mlm"},
        },
        "model": {
            "_extra_state": encode_identity({"languages": ["en"]}),
            **{f"encoder.layers.{n}.shared.fc1.bias": torch.zeros(1) for n in range(2)},
        },
    }
    torch.save(state, "models/best.pt")
    for layer in (0, 2):
        check_layers(config(**{option: layer}), encoders(config()))
    message = rf"`--{name}-layers?` must lie in \[0, 2\], the layers of models/best.pt, got 99"
    with pytest.raises(UserError, match=message):
        check_layers(config(**{option: 99}), encoders(config()))
    state["model"]["encoder.trilayer.fc1.bias"] = torch.zeros(1)
    torch.save(state, "models/best.pt")
    message = message.replace("0, 2", f"0, {deepest}")  # a TRILayer's states can be shifted, too
    check_layers(config(**{option: deepest}), encoders(config()))
    with pytest.raises(UserError, match=message.replace("99", "4")):
        check_layers(config(**{option: 4}), encoders(config()))
    other = {"model": {"_name": "clcr"}, "task": {"_name": "clcr"}}
    torch.save({"cfg": other, "model": {}}, "models/best.pt")
    with pytest.raises(UserError, match=r"models/best.pt: contains no encoder of this project"):
        check_layers(config(**{option: 1}), encoders(config()))


def test_a_training_set_says_what_it_is_in_fields_not_in_its_name(config):
    chosen = config(
        train=("en=en.train,de=en.train",),
        translate_test=("de=en.test",),
        translate_train=("de=en.train",),
    )
    found = [(one.sources, one.how, one.row) for one in zero_shot(chosen)]
    assert found == [
        (("en", "de"), "", ""),
        (("en", "de"), "translate-test", "translate-test"),
        (("de",), "translate-train", "translate-train"),
    ]
    chosen = config(train=("en=en.train", "de=de.test"), valid=("en=en.dev", "de=en.dev"))
    assert [(one.sources, one.how, one.row) for one in matrix(chosen)] == [
        (("en",), "", "trained on en"),
        (("de",), "", "trained on de"),
    ]


def test_a_matrix_has_on_its_diagonal_what_supervised_training_is(config):
    files = {"train": ("en=en.train", "de=de.test"), "valid": ("en=en.dev", "de=de.test")}
    for one in matrix(config(**files)):
        own = {name: (next(f for f in found if f[:2] == one.sources[0]),) for name, found in
               files.items()}  # fmt: skip
        (alone,) = zero_shot(config(**own))
        assert (one.train, one.valid, one.tests) == (alone.train, alone.valid, alone.tests)
