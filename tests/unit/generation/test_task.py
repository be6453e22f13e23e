"""The hooks by which fairseq's programs translate with a task, and what is read before."""

import logging
from argparse import Namespace

import fairseq.options
import numpy as np
import pytest
import torch
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.core.errors import OWN
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.folder import CLS, PAD, SEP, SPECIALS
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.engine import precision
from fairseq_xling.generation import task as task_module
from fairseq_xling.generation.codec import RawReference
from fairseq_xling.generation.dataset import TranslationDataset
from fairseq_xling.generation.task import calibrate
from fairseq_xling.models.layer import EncoderLayer
from fairseq_xling.models.reading import ReadingLayer
from fairseq_xling.training.cdlm import CdlmTask


@pytest.fixture
def make_task(tiny_corpus):
    """``make_task("--ordering", "oracle", data=...)``: a task as fairseq-generate sets it up."""

    def make(*flags, data=tiny_corpus.path, positions=64):
        parser = fairseq.options.get_generation_parser()
        arguments = fairseq.options.parse_args_and_arch(
            parser, [str(data), "--task", "cdlm", *flags]
        )
        task = CdlmTask.setup_task(convert_namespace_to_omegaconf(arguments).task)
        task._max_positions = positions
        return task

    return make


def refusal(call, *arguments, **options):
    with pytest.raises(SystemExit) as error:
        call(*arguments, **options)
    return str(error.value).removeprefix("fairseq-xling: error: ")


@pytest.mark.parametrize(
    ("flags", "direction"),
    [
        ((), ("en", "de")),
        (("--directions", "de-en"), ("de", "en")),
        (("--directions", "de-en,en-de"), ("de", "en")),
        (("--source-lang", "de"), ("de", "en")),
        (("-t", "de"), ("en", "de")),
        (("--directions", "de-en", "--target-lang", "de"), ("en", "de")),
        (("-s", "de", "-t", "en"), ("de", "en")),
    ],
)
def test_the_direction_is_what_is_named_or_else_what_was_prepared(make_task, flags, direction):
    task = make_task(*flags)
    assert task.direction == direction


def test_two_languages_that_no_text_pairs_can_be_named(make_task, make_corpus):
    corpus = make_corpus()
    meta = read_json(corpus.path / "meta.json")
    write_json(corpus.path / "meta.json", meta | {"parallel": {}})
    assert make_task(data=corpus.path).direction == ("en", "de")
    assert make_task("-s", "de", "-t", "en", data=corpus.path).direction == ("de", "en")
    assert refusal(make_task, "-s", "de", data=corpus.path) == (
        "`--source-lang` and `--target-lang` must name two of the languages en,de, got de and None"
    )


def test_the_dictionaries_follow_the_direction(make_task, make_corpus):
    corpus = make_corpus(mode="separate")
    task = make_task("-s", "de", data=corpus.path)
    assert task.source_dictionary[corpus.ids["de"][0]] == "▁de0"
    assert task.target_dictionary[corpus.ids["en"][0]] == "▁en0"


def test_only_fairseq_generate_gets_sentences_to_translate(make_task):
    task = make_task()
    task.load_dataset("test", task_cfg=None)
    assert isinstance(task.dataset("test"), TranslationDataset)
    task.load_dataset("test", combine=False, epoch=1, task_cfg=None)  # as fairseq-validate
    assert isinstance(task.dataset("test"), BatchDataset)
    task.load_dataset("test")
    assert isinstance(task.dataset("test"), BatchDataset)


def test_the_last_batch_is_translated_though_it_is_not_full(make_task, tiny_corpus):
    task = make_task("-s", "de")
    task.load_dataset("test", task_cfg=None)
    iterator = task.get_batch_iterator(
        task.dataset("test"), max_sentences=7, required_batch_size_multiple=8
    )
    batches = list(iterator.next_epoch_itr(shuffle=False))
    found = {}
    for batch in batches:
        for i, row in zip(batch["id"].tolist(), batch["net_input"]["src_tokens"], strict=True):
            found[i] = row[row != PAD].tolist()[1:-1]
    assert [len(batch["id"]) for batch in batches] == [7, 7, 6]
    assert found == {i: pair[1] for i, pair in enumerate(tiny_corpus.pairs["test"])}


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("processes", [1, 2])
def test_shards_and_their_processes_share_the_sentences_exactly_once(make_task, shards, processes):
    ids = []
    for shard in range(shards):
        task = make_task("--num-shards", str(shards), "--shard-id", str(shard))
        task.load_dataset("test", task_cfg=None)
        counts = set()
        for rank in range(processes):
            iterator = task.get_batch_iterator(
                task.dataset("test"), max_sentences=3, num_shards=processes, shard_id=rank
            )
            batches = list(iterator.next_epoch_itr(shuffle=False))
            counts.add(len(batches))
            ids += [i for batch in batches for i in batch.get("id", np.array([])).tolist()]
        assert len(counts) == 1  # processes wait for one another
    assert sorted(ids) == list(range(20))


def test_more_shards_than_batches_are_refused_in_each_of_them(make_task):
    for shard in (0, 7):
        task = make_task("--num-shards", "8", "--shard-id", str(shard))
        task.load_dataset("test", task_cfg=None)
        said = refusal(task.get_batch_iterator, task.dataset("test"), max_sentences=3)
        assert said.startswith("`--num-shards` must be at most 7, the batches of the text")


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--length-candidates", "0"), "`--length-candidates` must lie in [1, 16], got 0"),
        (("--length-candidates", "-1"), "`--length-candidates` must lie in [1, 16], got -1"),
        (("--length-candidates", "17"), "`--length-candidates` must lie in [1, 16], got 17"),
        (("--order-beam", "0"), "`--order-beam` must lie in [1, 1000], got 0"),
        (("--length-weight", "nan"), "`--length-weight` must be finite, got nan"),
        (
            ("-t", "dee"),
            "unknown language in `--source-lang` or `--target-lang` 'dee'; "
            "did you mean 'de'? known: en, de",
        ),
        (
            ("-s", "de", "-t", "de"),
            "`--source-lang` and `--target-lang` must name two of the languages en,de, "
            "got de and de",
        ),
        (
            ("--ordering", "predict"),
            "unknown `--ordering` 'predict'; did you mean 'predicted'? "
            f"known: identity, oracle, predicted, relative{OWN}",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_any_ordering(make_task, flags, line):
    assert refusal(make_task, *flags) == line


def test_text_without_references_is_translated_too(make_task, make_corpus, caplog):
    corpus = make_corpus()
    meta = read_json(corpus.path / "meta.json")
    del meta["parallel"]["test"]
    write_json(corpus.path / "meta.json", meta)
    task = make_task(data=corpus.path)
    with caplog.at_level(logging.INFO):
        task.load_dataset("test", task_cfg=None)
    assert task.dataset("test")[np.array([0])]["target"] is None
    assert "test: no parallel text en-de, so no score" in caplog.messages
    task = make_task("--ordering", "oracle", data=corpus.path)
    assert refusal(task.load_dataset, "test", task_cfg=None) == (
        f"{corpus.path}: has no parallel 'test' text of en-de"
    )


@pytest.mark.parametrize("ordering", ["identity", "oracle"])
def test_an_unknown_split_is_answered_with_those_that_can_be_translated(
    make_task, make_corpus, ordering
):
    corpus = make_corpus()
    task = make_task("--ordering", ordering, data=corpus.path)
    assert refusal(task.load_dataset, "test1", task_cfg=None) == (
        f"{corpus.path}: has no parallel 'test1' text of en-de; its splits are train, valid, test; "
        "did you mean 'test'?"
    )


def test_alignments_are_read_only_where_the_ordering_asks_for_them(make_task, make_corpus):
    corpus = make_corpus()
    for file in (corpus.path / "parallel").glob("test.en-de.order.*"):
        file.unlink()
    make_task(data=corpus.path).load_dataset("test", task_cfg=None)
    task = make_task("--ordering", "oracle", data=corpus.path)
    assert refusal(task.load_dataset, "test", task_cfg=None) == (
        f"{corpus.path}: has no word alignment en-de for 'test'; prepare it with an --aligner or "
        "--alignment"
    )
    task = make_task("--ordering", "oracle", "-s", "de", data=corpus.path)
    task.load_dataset("test", task_cfg=None)
    assert "order" in task.dataset("test")[np.array([0])]["net_input"]


def test_long_sentences_are_counted_or_refused(make_task, tiny_corpus, caplog):
    count = sum(len(pair[0]) > 3 for pair in tiny_corpus.pairs["test"])
    assert count > 0
    with caplog.at_level(logging.WARNING):
        make_task(positions=5).load_dataset("test", task_cfg=None)
    assert f"test: {count} sentences are cut at --max-positions 5" in caplog.messages
    task = make_task("--too-long", "refuse", positions=5)
    expected = "sentences of {} are longer than `--max-positions` 5, and `--too-long` is refuse"
    assert refusal(task.load_dataset, "test", task_cfg=None) == (
        f"{count} {expected.format('test')}"
    )
    lines = [np.array([7] * 9 + [SEP])]
    assert refusal(task.build_dataset_for_inference, lines, [10]) == (
        f"1 {expected.format('input')}"
    )


def test_typed_lines_become_ids_of_the_source(make_task, tiny_corpus):
    task = make_task("-s", "de")
    lines = ["▁de3 ▁de0", "", "what  ▁de1 "]
    tokens, lengths = task.get_interactive_tokens_and_lengths(lines, lambda line: line)
    de = tiny_corpus.ids["de"]
    assert [ids.tolist() for ids in tokens] == [[de[3], de[0], SEP], [SEP], [3, de[1], SEP]]
    assert lengths == [3, 1, 3]
    dataset = task.build_dataset_for_inference(tokens, lengths, constraints=None)
    batches = list(task.get_batch_iterator(dataset, max_sentences=2).next_epoch_itr(shuffle=False))
    assert sorted(i for batch in batches for i in batch["id"].tolist()) == [0, 1, 2]
    assert all(batch["target"] is None for batch in batches)


NOTHING = "has no effect on a model that predicts all words at once, got"


@pytest.mark.parametrize(
    ("option", "value", "line"),
    [
        ("prefix_size", 2, f"`--prefix-size` {NOTHING} 2"),
        ("constraints", "ordered", f"`--constraints` {NOTHING} 'ordered'"),
        ("replace_unk", "@@ ", f"`--replace-unk` {NOTHING} '@@ '"),
        ("score_reference", True, f"`--score-reference` {NOTHING} True"),
        ("no_repeat_ngram_size", 3, f"`--no-repeat-ngram-size` {NOTHING} 3"),
        ("lm_path", "lm.pt", f"`--lm-path` {NOTHING} 'lm.pt'"),
        ("nbest", 2, "`--nbest` must be at most 1, the number of candidates of `--ordering ident"),
        ("print_alignment", "soft", "`--print-alignment` must be hard with this task, got 'soft'"),
    ],
)
def test_what_fairseq_asks_of_a_generator_is_checked(make_task, make_model, option, value, line):
    found = refusal(make_task().build_generator, [make_model()], Namespace(**{option: value}))
    assert found.startswith(line)


def test_a_generator_needs_a_model_with_a_trilayer(make_task, make_model):
    model = make_model()
    model.encoder.reorders = False
    assert refusal(make_task().build_generator, [model], Namespace()) == (
        "`--path` must name a model with a TRILayer, such as tri_bert_base, got TriTransformer"
    )


def test_a_mistake_found_in_a_batch_ends_in_one_line(make_task, make_model, make_sample):
    task, models = make_task("--ordering", "oracle"), [make_model()]
    generator = task.build_generator(models, Namespace())
    assert refusal(task.inference_step, generator, models, make_sample([7])).startswith(
        "`--ordering oracle` reads the word alignments of a data folder"
    )


def test_the_options_reach_the_generator(make_task, make_model):
    flags = "--ordering predicted --length-candidates 3 --length-weight 0.5 --keep-repeats"
    task = make_task(*flags.split(), "--cpu-bf16")
    models = [make_model("order")]
    generator = task.build_generator(models, Namespace(nbest=3, unkpen=2.0, print_alignment="hard"))
    assert generator.ordering.candidates == 3
    assert (generator.length_weight, generator.reading.unk_penalty) == (0.5, 2.0)
    assert (generator.reading.keep_repeats, generator.align) == (True, True)
    assert {str(parameter.dtype) for parameter in models[0].parameters()} == {"torch.bfloat16"}


@pytest.mark.parametrize(("native", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_translation_may_leave_its_precision_to_the_processor(
    make_task, make_model, monkeypatch, native, dtype
):
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: native)
    task, model = make_task("--cpu", "--cpu-precision", "auto"), make_model()
    task.build_generator([model], Namespace())
    assert {parameter.dtype for parameter in model.parameters()} == {dtype}


def test_a_model_translates_in_one_way(make_task, make_model):
    model = make_model()
    task = make_task("--cpu")
    task.build_generator([model], Namespace())
    task.build_generator([model], Namespace())
    assert not [layer for layer in model.modules() if type(layer) is EncoderLayer]
    for flag, way in (("--cpu-bf16", "in bf16"), ("--int8", "in 8 bits from en to de")):
        assert refusal(make_task("--cpu", flag).build_generator, [model], Namespace()) == (
            f"a model that translates in fp32 cannot do so {way}; load it again"
        )


def test_a_model_in_training_is_not_converted(make_task, make_model):
    model = make_model().train()
    make_task("--cpu").build_generator([model], Namespace())
    assert [layer for layer in model.modules() if type(layer) is EncoderLayer]
    assert all(weight.requires_grad for weight in model.parameters())


@pytest.mark.parametrize("separate", ["", "1,2,3,4"])
def test_ranges_are_found_with_the_words_of_the_source(
    make_task, make_model, monkeypatch, separate
):
    seen = []
    monkeypatch.setattr(
        task_module, "calibrate", lambda *given: (seen.append(given[1:]), calibrate(*given))
    )
    task, models = (
        make_task("--cpu", "--int8"),
        [make_model(separate=separate, words=900) for _ in range(2)],
    )
    task.build_generator(models, Namespace())
    numbers = {lang: number for number, lang in enumerate(task.languages)}
    assert seen == 2 * [(task.source_dictionary, task.direction, numbers)]
    assert [type(model.encoder.trilayer) for model in models] == 2 * [ReadingLayer]


def test_a_bpe_of_the_users_own_is_left_to_fairseq(make_task):
    codec = make_task().build_bpe(Namespace(bpe="characters"))
    assert codec.decode("a b") == "ab"
    assert codec.decode(RawReference("a b")) == "a b"  # text, not symbols


def ids_read(model, counts):
    """The ids that are read, (B, T) each time."""
    dictionary, seen = Dictionary(), []
    while len(dictionary) < SPECIALS:
        dictionary.add_symbol(f"<special{len(dictionary)}>")
    for number, count in enumerate(counts):
        dictionary.add_symbol(f"w{number}", n=count)
    lower = model.encoder.lower

    def noted(src, pair):
        seen.append(src["tokens"])
        return lower(src, pair)

    model.encoder.lower = noted
    calibrate(model, dictionary, ("en", "xx"), {"en": 0, "xx": 1})
    return seen


def test_words_come_as_often_as_in_the_text_and_always_the_same(make_model):
    seen = ids_read(make_model(), [900, 100, 0])
    assert len({tokens.shape for tokens in seen}) == len(seen) > 1
    for tokens in seen:
        assert (tokens[:, 0] == CLS).all()
        assert (tokens[:, -1] == SEP).all()
    words = torch.cat([tokens[:, 1:-1].flatten() for tokens in seen]) - SPECIALS
    assert set(words.tolist()) <= {0, 1, 2}
    assert 0.85 < (words == 0).double().mean() < 0.95
    again = ids_read(make_model(), [900, 100, 0])
    assert all(map(torch.equal, seen, again))


@pytest.mark.parametrize(
    "shape", [{}, {"emission": "ctc", "upsample": 2}, {"emission": "lattice", "upsample": 3}]
)
def test_every_layer_is_reached(make_model, shape):
    model, reached = make_model(**shape), set()
    layers = [layer for layer in model.modules() if type(layer) is EncoderLayer]
    for layer in layers:
        layer.register_forward_pre_hook(lambda module, _: reached.add(module))
    ids_read(model, [1, 1])
    assert len(layers) == 5
    assert reached == set(layers)


def test_sentences_fit_the_models_positions(make_model):
    model = make_model()
    model.max_positions = lambda: 10
    assert {tokens.shape[1] for tokens in ids_read(model, [1, 1])} == {8, 10}
