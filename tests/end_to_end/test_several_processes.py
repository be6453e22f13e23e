"""Whatever trains, trains in two processes to the result of one with `--update-freq 2`.

The table: every criterion and every registered part with a loss (`training_steps`), with both of
fairseq's ways to exchange gradients, validated, saved and resumed half-way. gloo on a CPU is the
real thing for all of this. A sum of two terms does not depend on their order, so that weights,
moments and logs are the same to the last bit.
"""

import functools

import pytest
import torch

from fairseq_xling import USER_DIR
from fairseq_xling.engine.extensions import VARIABLE
from tests.end_to_end import training_steps
from tests.end_to_end.engine import differences, load, logged, run

BACKENDS = ("pytorch_ddp", "legacy_ddp")
LAST = "checkpoint_last.pt"
UPDATES = 4

# fairseq seeds torch at each update with the same number in every process. One process would thus
# draw other dropout for its second batch than the second of two. Here it follows from the batch.
SEEDS = """
import torch
from fairseq.tasks import FairseqTask
from fairseq.utils import apply_to_sample

original = FairseqTask.train_step


def train_step(self, sample, *args, **kwargs):
    sums = []
    apply_to_sample(lambda tensor: sums.append(int(tensor.double().sum())), sample)
    torch.manual_seed(sum(sums) % (1 << 31))
    return original(self, sample, *args, **kwargs)


FairseqTask.train_step = train_step
"""

TRAINER = (
    "--optimizer adam --lr 1e-3 --weight-decay 0.1 --clip-norm 1 --cpu --num-workers 0 "
    "--no-progress-bar --log-format json --log-interval 1 --save-interval-updates 2"
).split()
# What differs between trainings that are the same: times, and the tokens of a step of validation.
OWN = {"wps", "ups", "train_wall", "wall", "epoch", "update", "valid_wps", "valid_wpb", "valid_bsz"}

_CDLM = training_steps.CDLM
# A batch has one objective and one language, or pair: in four updates, each in turn.
_LM = f"{training_steps.LM} --alternate"
_APART = _CDLM.replace("--mix-in-batch", "--alternate")
MORE = {
    "unified_lm tokens": f"{{w}}/data {_LM} --separate tokens",
    "unified_lm layers": f"{{w}}/data {_LM} --separate 1-2 --weight-decay 0.5",
    "unified_lm positions": f"{{w}}/data {_APART} --separate positions,softmax,1",
    "unified_lm brlm": f"{{w}}/data {_LM} --objectives brlm-mask,brlm-attn",
    "unified_lm copies": f"{{w}}/data {_APART} --copy-embeddings",
    "unified_lm copies mixed": f"{{w}}/data {_CDLM} --copy-embeddings",
    "unified_lm glancing": f"{{w}}/data {_APART} --glancing 0.5 --glancing-end 0.5",
    "unified_lm ctc apart": f"{{w}}/data {_APART} --emission ctc --copy-embeddings --objectives "
    "translation,mlm --objective-shares translation=1,mlm=1 --directions en-de "
    "--batch-size 10 --max-tokens 999 --glancing 0.5 --glancing-end 0.5",
    # A batch of two rows often has no translation, while that of the other process has one.
    "unified_lm ctc seldom": f"{{w}}/data {_CDLM} --emission ctc --copy-embeddings --objectives "
    "translation,mlm --objective-shares translation=1,mlm=2 --batch-size 2",
    "unified_lm lattice apart": f"{{w}}/data {_APART} --emission lattice --objectives cdlm,mlm "
    "--glancing 0.5 --glancing-end 0.5",
    "unified_lm heads apart": f"{{w}}/data {_APART} --auxiliary order,relative,nsp --objectives "
    "cdlm,mlm,nsp",
    "unified_lm frozen": f"{{w}}/data {_LM} --freeze-embeddings --sentence-avg",
    "unified_lm phase": f"{{w}}/data {_APART} --trelm-phase commonality",
    "unified_lm recomputed": f"{{w}}/data {_LM} --separate 1 --checkpoint-activations",
    "unified_lm fused": f"{{w}}/data {_LM} --separate emb,1 --optimizer fused_adam",
    "clcr encoder": f"{training_steps.CLCR} {training_steps.START} --clcr-phase lm1",
    "cross_lingual_transfer untied": "{w}/data --task cross_lingual_transfer --arch "
    "cross_lingual_transfer --criterion cross_lingual_transfer --encoder "
    f"{{w}}/untied/checkpoint_last.pt --head pos {training_steps.HEADS['pos']} --batch-size 4",
    "cross_lingual_transfer layers": f"{training_steps.TRANSFER} --head pos "
    f"{training_steps.HEADS['pos']} --head-layers 1 --head-lr 1e-2",
}
CASES = {**training_steps.cases(), **MORE}
# One of each criterion, with what has failed.
FAST = (
    "unified_lm ctc apart",
    "word_alignment",
    "clcr extract",
    "cross_lingual_transfer pos",
    "adversarial_tagging flip crf",
)


def validating(options):
    """The options with annotated files for validation, and an odd number of batches of items."""
    words = options.split()
    if "--train-file" in words and "--valid-file" not in words:
        place = words.index("--train-file") + 1
        words += ["--valid-file", words[place]]
    if "--batch-size" in words and "--max-tokens" not in words:
        words[words.index("--batch-size") + 1] = "6"
    return words


@pytest.fixture(autouse=True)
def pivots(request):
    """Those that a case reads, if it reads any."""
    if training_steps.needs_labels(CASES[request.node.callspec.params["name"]]):
        request.getfixturevalue("labelled_world")


def train(root, save_dir, name, *more, updates=UPDATES, processes=1):
    """What a training of a case says, with what is its own left out: by updates done."""
    words = [word.format(w=root) for word in validating(CASES[name])]
    options = [*TRAINER, *words, "--user-dir", str(USER_DIR), *more]
    options += ["--save-dir", str(save_dir), "--max-update", str(updates)]
    seeds = save_dir / "seeds_of_batches" / "__init__.py"
    seeds.parent.mkdir(parents=True, exist_ok=True)
    seeds.write_text(SEEDS)
    with pytest.MonkeyPatch.context() as patch:  # not of this process, which trains, too
        patch.setenv(VARIABLE, str(seeds.parent))
        output = run("fairseq-train", *options, processes=processes).stdout
    said = {}
    for kind, number in (("train_inner", "num_updates"), ("valid", "valid_num_updates")):
        for row in logged(output, kind):
            # Perplexities follow from losses, and fairseq shows some of earlier updates.
            own = {k: v for k, v in row.items() if k not in OWN and not k.endswith("ppl")}
            said[kind, row[number]] = own
    return said


@pytest.fixture(scope="module")
def alone(world, tmp_path_factory):
    """One process's checkpoint and what it said, by case and options."""

    @functools.cache
    def find(name, *more, frequency=2):
        folder = tmp_path_factory.mktemp("one")
        said = train(world, folder, name, "--update-freq", str(frequency), *more)
        return load(folder / LAST), said

    return find


def together(world, folder, name, backend, *more):
    """As `alone`, in two processes that are resumed half-way."""
    options = ["--ddp-backend", backend, *more]
    said = train(world, folder, name, *options, updates=UPDATES // 2, processes=2)
    said |= train(world, folder, name, *options, processes=2)
    saved = load(folder / LAST)
    assert saved["cfg"]["distributed_training"]["ddp_backend"] == backend
    assert saved["cfg"]["distributed_training"]["distributed_world_size"] == 2
    return saved, said


def assert_same(two, one):
    assert two[1].keys() == one[1].keys()
    for when, row in one[1].items():  # of sums in fp32 and fp64, rounded
        assert two[1][when] == pytest.approx(row, rel=1e-3, abs=2e-3, nan_ok=True), when
    for part in ("model", "last_optimizer_state"):
        assert not differences(two[0][part], one[0][part])


def rows():
    """The table; the quick row exchanges gradients in the way that asks more of a model."""
    for name in CASES:
        for backend in BACKENDS:
            quick = name == FAST[-1] and backend == "pytorch_ddp"
            yield pytest.param(name, backend, marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize(("name", "backend"), rows())
def test_two_processes_resumed_equal_one_bit_for_bit(name, backend, world, alone, tmp_path):
    one = alone(name)
    assert_same(together(world, tmp_path, name, backend), one)
    if "--alternate" in CASES[name]:  # what the updates read
        found = {key for (kind, _), row in one[1].items() if kind == "train_inner" for key in row}
        assert len([key for key in found if key.endswith(("_en_loss", "_de_loss"))]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FAST)
def test_two_processes_equal_one_in_bf16(name, backend, world, alone, tmp_path):
    two, one = together(world, tmp_path, name, backend, "--cpu-bf16"), alone(name, "--cpu-bf16")
    assert_same(two, one)
    assert differences(one[0]["model"], alone(name)[0]["model"])  # of fp32


# With plain gradient descent, where weights differ by no more than sums in another order do.
SUMS = "--optimizer sgd --lr 0.1 --weight-decay 0".split()
LACKING = {  # three batches: of four to a step, one process has the third and lacks the fourth
    "cross_lingual_transfer pos": [],
    "adversarial_tagging reversal crf": [],
    "unified_lm ctc": ["--epoch-updates", "4"],
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[] if x == "unified_lm ctc" else pytest.mark.slow) for x in LACKING],
)
def test_batches_that_a_process_lacks_hide_none_that_it_has(name, world, alone, tmp_path):
    more = [*SUMS, *LACKING[name]]
    two = together(world, tmp_path, name, "pytorch_ddp", "--update-freq", "2", *more)
    one = alone(name, *more, frequency=4)
    assert two[1].keys() == one[1].keys()
    for when, row in one[1].items():
        assert two[1][when] == pytest.approx(row, rel=1e-3, abs=5e-3, nan_ok=True), when
    for weights, expected in zip(two[0]["model"].values(), one[0]["model"].values(), strict=True):
        torch.testing.assert_close(weights, expected, rtol=1e-4, atol=1e-5)
