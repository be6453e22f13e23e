"""fairseq's configuration is the one that Hydra composes."""

import pytest

from fairseq_xling import USER_DIR
from fairseq_xling.engine import compose
from fairseq_xling.guards import prepare_engine

prepare_engine()

LM = "--task bilingual_mlm --arch separable_transformer_tiny --criterion unified_lm"
STOCK = "--task translation --arch transformer --criterion cross_entropy"
TRAINED = [
    f"{LM} --optimizer adam --lr 1e-3 --save-dir x'y --fp16 --disable-validation",
    f"{LM} --separate emb,1 --optimizer adam --adam-betas (0.9,0.98) --lr 1e-3,5e-4 "
    "--update-freq 2,3 --warmup-updates 50 --lr-scheduler inverse_sqrt --bf16 --save-dir a\\b",
    "--task cdlm --arch tri_bert_tiny --criterion unified_lm --optimizer adagrad --max-tokens 9",
    "--task cross_lingual_transfer --arch cross_lingual_transfer --criterion unified_lm",
    "--task clcr --arch clcr --criterion clcr --optimizer sgd --momentum .9 --lr-scheduler cosine",
    f"{STOCK} --eval-bleu --eval-bleu-detok moses --skip-invalid-size-inputs-valid-test",
]
GENERATED = [
    "--task cdlm --path m.pt -s en -t de --ordering predicted --results-path /tmp/ä --fp16",
    "--task translation --path m.pt --bpe sentencepiece --scoring sacrebleu --lenpen 0.6 --beam 4",
]


def parsed(kind, options):
    from fairseq import options as fairseq

    parser = getattr(fairseq, f"get_{kind}_parser")()
    return fairseq.parse_args_and_arch(parser, ["data", "--user-dir", str(USER_DIR), *options])


def by_both(args, monkeypatch):
    """What fairseq makes of its options with Hydra and with us, without Hydra's help."""
    from fairseq.dataclass import utils
    from hydra.experimental import compose as by_hydra
    from hydra.experimental import initialize

    with monkeypatch.context() as patch:
        patch.setattr(utils, "compose", by_hydra)
        patch.setattr(utils, "initialize", initialize)
        expected = utils.convert_namespace_to_omegaconf(args)
    with monkeypatch.context() as patch:
        patch.setattr(compose, "_by_hydra", lambda *_: pytest.fail("left to Hydra"))
        return expected, utils.convert_namespace_to_omegaconf(args)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("training", one) for one in TRAINED] + [("generation", one) for one in GENERATED],
)
def test_options_become_what_hydra_makes_of_them(kind, options, monkeypatch):
    expected, got = by_both(parsed(kind, options.split()), monkeypatch)
    assert repr(got) == repr(expected)  # types, too: 1 is not 1.0
    assert got == expected


def registered():
    """A training for every optimizer, schedule, criterion and model that fairseq has on a CPU."""
    from fairseq.models import ARCH_MODEL_REGISTRY
    from fairseq.registry import REGISTRIES

    for group in ("optimizer", "lr_scheduler", "criterion"):
        for name in sorted(REGISTRIES[group]["registry"]):
            yield f"{STOCK} --{group.replace('_', '-')} {name}"
    for name in sorted(ARCH_MODEL_REGISTRY):
        yield f"--task language_modeling --criterion cross_entropy --arch {name}"


def test_what_goes_to_hydra_comes_back_the_same(monkeypatch):
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    args = parsed("training", TRAINED[0].split())
    expected = convert_namespace_to_omegaconf(args)
    monkeypatch.delattr(compose, "_compose")
    assert repr(convert_namespace_to_omegaconf(args)) == repr(expected)


@pytest.mark.slow
def test_every_registered_part_becomes_what_hydra_makes_of_it(monkeypatch):
    compared = 0
    for options in registered():
        try:
            args = parsed("training", options.split())
        except (SystemExit, Exception):  # needs options of its own, or a package that is not here
            continue
        try:
            expected, got = by_both(args, monkeypatch)
        except Exception:  # Hydra cannot compose it either
            continue
        assert repr(got) == repr(expected), options
        compared += 1
    assert compared > 200


def test_what_cannot_be_composed_is_said_by_hydra():
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    args = parsed("training", LM.split())
    args.log_format = "xml"
    with pytest.raises(Exception, match=r"Error merging override common\.log_format") as error:
        convert_namespace_to_omegaconf(args)
    assert type(error.value).__module__.startswith("hydra.")


def test_texts_become_values_as_in_hydras_grammar():
    from hydra.core.override_parser.overrides_parser import OverridesParser

    texts = ["null", "True", "0", "-7", "1e-05", "0.98", "12.5e+3", "''", "'a b'", "'${x}'", "007"]
    texts += ["[1, 2]", "[0.5]", "['a', 'b']", r"'it\'s'", "inf", "nan", "[]", "a", "1_000"]
    for text in texts:
        expected = OverridesParser.create().parse_override(f"group.option={text}").value()
        got = compose._value("group.option", text)
        assert repr(got) == repr(expected), text
