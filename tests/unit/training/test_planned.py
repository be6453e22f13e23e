"""The stream of batches of a task whose data is in shards, against that of one folder."""

import shutil
from collections import Counter

import fairseq.options
import numpy as np
import pytest
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.tasks import TASK_REGISTRY

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.folder import PAD, SEP
from fairseq_xling.data.mmap import best_dtype, write_items

SENTENCES = (12, 24, 36)  # of the shards: multiples of a batch
KINDS = {
    "bilingual_mlm": ["--languages", "en", "--sample-break-mode", "sentence"],
    "cdlm": ["--objectives", "cdlm", "--directions", "en-de"],
}


@pytest.fixture(scope="module")
def world(built_corpora, tmp_path_factory):
    """`cut`, three shards, and `whole`, all their training text in one folder; read them only."""
    folder = tmp_path_factory.mktemp("world")
    parts = [built_corpora(seed=k, sentences=(n, n)) for k, n in enumerate(SENTENCES)]
    for k, part in enumerate(parts):
        shutil.copytree(part.path, folder / "cut" / f"shard{k}")
    whole = shutil.copytree(built_corpora(sentences=(1, 1)).path, folder / "whole")
    dtype = best_dtype(80)
    meta = read_json(whole / "meta.json")
    for lang in ("en", "de"):
        text = [s for part in parts for s in part.mono["train"][lang]]
        stem = whole / "mono" / f"train.{lang}"
        write_items(stem, [np.array([*s, SEP]) for s in text], dtype)
        meta["mono"]["train"][lang] = {"sentences": len(text)}
    pairs = [pair for part in parts for pair in part.pairs["train"]]
    stem = whole / "parallel" / "train.en-de"
    for side, lang in enumerate(("en", "de")):
        items = [np.array([*pair[side], SEP]) for pair in pairs]
        write_items(stem.with_name(f"train.en-de.{lang}"), items, dtype)
    orders = [np.array([*range(len(a), 0, -1), len(a) + 1]) for a, _ in pairs]
    for way in ("en-de", "de-en"):
        write_items(stem.with_name(f"train.{way}.order"), orders, np.dtype("<u2"))
    meta["parallel"]["train"] = {"en-de": {"pairs": len(pairs), "orders": ["en-de", "de-en"]}}
    write_json(whole / "meta.json", meta)
    return folder


def make_task(data, kind):
    parser = fairseq.options.get_training_parser()
    flags = [str(data), "--task", kind, "--arch", "separable_transformer_tiny", *KINDS[kind]]
    arguments = fairseq.options.parse_args_and_arch(parser, flags)
    task = TASK_REGISTRY[kind].setup_task(convert_namespace_to_omegaconf(arguments).task)
    task._max_positions = 64
    return task


class Training:
    """The calls of fairseq's trainer, as far as they concern the batches of one process."""

    def __init__(self, data, kind, rows=4, shard=0, num_shards=1, num_workers=0):
        self.task, self.rows = make_task(data, kind), rows
        self.where = {"num_shards": num_shards, "shard_id": shard, "num_workers": num_workers}

    def iterator(self, epoch):
        if epoch == 1 or self.task.has_sharded_data("train"):
            self.task.load_dataset("train", epoch=epoch)
        data = self.task.dataset("train")
        return self.task.get_batch_iterator(
            data, max_sentences=self.rows, epoch=epoch, **self.where
        )

    def epoch(self, epoch):
        self.last = self.iterator(epoch)
        return list(self.last.next_epoch_itr())

    def resume(self, state):
        self.last = self.iterator(state["epoch"])
        self.last.load_state_dict(state)
        return self.last


def texts(batches):
    """How often each sentence occurs: CdLM's source; MLM's, with what was masked put back."""
    found = Counter()
    for batch in batches:
        net = batch["net_input"]
        rows = net["src"]["tokens"].tolist()
        if net.get("order") is None:
            rows = [
                [wanted if wanted != PAD else token for token, wanted in zip(*both, strict=True)]
                for both in zip(rows, batch["target"].tolist(), strict=True)
            ]
        found += Counter(tuple(token for token in row if token != PAD) for row in rows)
    return found


def same(ours, theirs):
    read = [[batch["net_input"]["src"]["tokens"].tolist() for batch in x] for x in (ours, theirs)]
    return read[0] == read[1]


@pytest.mark.parametrize(("kind", "workers"), [("bilingual_mlm", 0), ("cdlm", 0), ("cdlm", 2)])
def test_one_epoch_of_each_shard_has_the_sentences_of_one_epoch_of_the_whole(world, kind, workers):
    cut = Training(world / "cut", kind, num_workers=workers)
    ours = [batch for epoch in (1, 2, 3) for batch in cut.epoch(epoch)]
    theirs = Training(world / "whole", kind).epoch(1)
    assert texts(ours) == texts(theirs)
    assert texts(ours).total() == (60 if kind == "cdlm" else sum(SENTENCES))


@pytest.mark.parametrize("kind", KINDS)
def test_a_shard_that_is_read_again_continues_where_it_was(world, kind):
    cut = Training(world / "cut", kind, rows=5)  # no epoch is a whole number of passes
    seen = [Counter() for _ in SENTENCES]
    for epoch in range(1, 16):
        rows = [row for batch in cut.epoch(epoch) for row in batch["id"].tolist()]
        seen[(epoch - 1) % len(seen)].update(rows)
    for counts, size in zip(seen, SENTENCES, strict=True):
        size = 20 if kind == "cdlm" else size
        assert set(counts) == set(range(size))
        assert max(counts.values()) - min(counts.values()) <= 1  # none again before all others


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("taken", [(1, 2), (2, 0), (2, 3), (5, 1)])
def test_a_training_resumes_in_the_middle_of_a_shard_and_between_two(world, kind, taken):
    last, steps = taken
    whole = Training(world / "cut", kind)
    batches = [whole.epoch(epoch) for epoch in range(1, 8)]
    killed = Training(world / "cut", kind)
    for epoch in range(1, last):
        killed.epoch(epoch)
    if steps:
        iterator = killed.iterator(last)
        running = iterator.next_epoch_itr()
        for _ in range(steps):
            next(running)
        state = iterator.state_dict()
    else:
        state = killed.last.state_dict()
    assert (state["epoch"], state["iterations_in_epoch"]) == (last, steps)
    resumed = Training(world / "cut", kind)
    assert same(list(resumed.resume(state).next_epoch_itr()), batches[last - 1][steps:])
    for epoch in range(last + 1, 8):
        assert same(resumed.epoch(epoch), batches[epoch - 1])


def test_two_processes_share_the_batches_of_each_shard(world):
    kind = "bilingual_mlm"
    one = Training(world / "cut", kind)
    two = [Training(world / "cut", kind, shard=k, num_shards=2) for k in (0, 1)]
    for epoch in (1, 2, 3):
        batches = one.epoch(epoch)
        parts = [each.epoch(epoch) for each in two]
        count = 2 * len(parts[0])
        together = [parts[k % 2][k // 2] for k in range(count)]
        assert same(together[: len(batches)], batches[:count])


def test_shards_have_masks_of_their_own_and_the_first_those_of_one_folder(world):
    kind = "bilingual_mlm"
    first = Training(world / "cut" / "shard0", kind).epoch(1)
    cut = Training(world / "cut", kind)
    assert same(cut.epoch(1), first)
    seeds = []
    for epoch in (1, 2, 3, 4):
        cut.task.load_dataset("train", epoch=epoch)
        seeds.append(cut.task.dataset("train").seed)
    assert len(set(seeds)) == 3 and seeds[3] == seeds[0] == cut.task.cfg.seed


def test_other_shards_than_those_of_the_checkpoint_restart_with_a_warning(world, caplog):
    kind = "bilingual_mlm"
    cut = Training(world / "cut", kind)
    cut.epoch(1)
    other = Training(f"{world / 'cut' / 'shard0'}:{world / 'cut' / 'shard1'}", kind)
    other.resume(cut.last.state_dict())
    assert "made with other shards; their order restarts" in caplog.text


def test_a_shard_that_disappears_in_training_is_named_in_one_line(world, tmp_path):
    own = shutil.copytree(world / "cut", tmp_path / "cut")
    cut = Training(own, "bilingual_mlm")
    cut.epoch(1)
    (own / "shard1" / "meta.json").unlink()
    with pytest.raises(SystemExit, match=r"cut/shard1: not a finished data folder"):
        cut.epoch(2)
