"""fairseq's programs inside this process: quicker than subprocesses where isolation is not it."""

import functools

import pytest

from fairseq_xling.cli import main
from tests.end_to_end import engine
from tests.end_to_end.clcr_world import make_world as make_clcr_world
from tests.end_to_end.word_study import WordStudy
from tests.once import linked, once


@pytest.fixture
def fairseq_train():
    """``fairseq_train(*arguments)``: the output of fairseq-train, or its SystemExit."""
    return functools.partial(engine.in_process, "train")


@pytest.fixture
def in_process(monkeypatch, fairseq_train):
    """``in_process("train", data, save_dir, *extra)``: a language model's `fairseq_train`.

    ``--only LANG`` (this fixture's own) draws every batch from one language.
    """

    def call(program: str, data, save_dir, *extra: str) -> str:
        from fairseq_xling.data import plan

        extra = list(extra)
        if "--only" in extra:
            place = extra.index("--only")
            only = extra[place + 1]
            del extra[place : place + 2]
            start = plan.Plan.__post_init__

            def keep_one(self):
                start(self)
                self._lanes = [[n for n, f in enumerate(self.feeds) if f.source.name == only]]

            monkeypatch.setattr(plan.Plan, "__post_init__", keep_one)
        return fairseq_train(*engine.training_options(data, save_dir, *extra))

    return call


@pytest.fixture(scope="session")
def world(shared_root, tiny_world):
    """What the trainings of `training_steps` read, but for pivots."""
    from tests.end_to_end import training_steps

    return once(
        shared_root / "steps", lambda folder: training_steps.make_world(linked(tiny_world, folder))
    )


@pytest.fixture(scope="session")
def labelled_world(world):
    """The same, with pivots."""
    from tests.end_to_end import training_steps

    once(world / "labelled", lambda _: training_steps.make_labels(world))
    return world


def _study(root):
    """Text of English and German, two data folders and a model of the first, in ``root``."""
    sizes = "--sentences 200 --held-out 60 --nli 60 --annotated 80"
    options = f"--languages en,de --from {root}/text --vocab-type word --vocab-size 1000"
    for words in (
        f"synthesize {root}/text {sizes}",
        f"prepare {root}/data {options} --aligner none --vocab union",
        f"prepare {root}/other {options} --aligner none --vocab separate",
    ):
        assert main(words.split()) == 0
    engine.in_process("train", *engine.small_model(root / "data", root / "model"))


@pytest.fixture(scope="session")
def study_world(shared_root):
    """A folder with annotated ``text``, ``data``, ``other`` data (separate vocabularies) and a
    ``model`` of two layers that has hardly learnt anything: read them, and write elsewhere."""
    return once(shared_root / "study", _study)


@pytest.fixture(scope="session")
def relabelled(shared_root):
    """A `WordStudy` whose other language has the order of English."""
    return WordStudy.made(shared_root / "relabelled", backwards=False)


@pytest.fixture(scope="session")
def backwards(shared_root):
    """A `WordStudy` whose other language runs backwards."""
    return WordStudy.made(shared_root / "backwards", backwards=True)


@pytest.fixture(scope="session")
def clcr_world(shared_root):
    """What `clcr_world.make_world` makes."""
    return once(shared_root / "clcr", make_clcr_world)


@pytest.fixture(scope="session")
def pages_root(shared_root):
    """Where the folders of documentation pages are, for all workers of the session."""
    return shared_root / "pages"
