"""Options of the study of maps below a task head, checked at once."""

import dataclasses
from pathlib import Path

from fairseq_xling.analysis.layers import parse_layers
from fairseq_xling.errors import UserError
from fairseq_xling.options import option, reads
from fairseq_xling.papers.emerging.similarity_config import ROWS, SimilarityConfig, check_encoders
from fairseq_xling.runs.options import split_words
from fairseq_xling.runs.settled import precision_option
from fairseq_xling.studies.encoder_training import PAPER, PRESET_HELP, EncoderTraining, PreparedText
from fairseq_xling.studies.task_options import TaskOptions, check_tasks

# How links of the two directions of alignment are combined.
LINKS = ("intersection", "gdfa", "union", "fwd", "rev")


@dataclasses.dataclass(frozen=True)
class _Mapped(TaskOptions):
    """The tasks, text and encoders."""

    preset: str = option("", PRESET_HELP)
    tasks: str = option("ner,parsing", "tasks, from data-text/gold: nli, ner, pos, parsing")
    data_text: str = reads("", "text in the layout of `fairseq-xling synthesize`")
    languages: str = option("en,de", "tasks are trained in the first, tested in each of the others")
    rows: str = option(
        "mapped,unmapped,bilingual,bilingual-mapped", f"encoders to compare: {', '.join(ROWS)}"
    )
    read_layers: str = option("all", "layers below the head, such as 0,2-4; 0 is the embeddings")
    head_layers: int = option(4, "new Transformer layers between that layer and the head", least=0)
    head_train_args: str = option(
        "", "more options for the fairseq-train of every head, as one quoted text"
    )
    map_split: str = option("train", "split of the parallel text that maps are fitted on")
    map_sentences: int = option(10_000, "number of its first sentence pairs; 0 is all", least=0)
    normalize: str = option(
        "centre",
        "normalisation of states before a map, as in `fairseq-xling map`; iterative in the paper",
    )
    links: str = option(
        "intersection", "word pairs to use, as in `fairseq-xling align`", choices=LINKS
    )
    encoder: tuple = reads(
        (),
        "LANG=CHECKPOINT, existing instead of trained; LANG-LANG for a bilingual one; {seed} in it "
        "stands for the seed",
    )
    data: tuple = reads((), "LANG=FOLDER, the data folder of an existing encoder")
    seeds: str = option("1", "seeds of the encoders' training")
    vocab: str = option("union", "vocabulary of the bilingual models: joint, union or prefixed")


@dataclasses.dataclass(frozen=True)
class MappedLayersConfig(EncoderTraining, PreparedText, _Mapped):
    """One sentence of help per field; lists are comma-separated text."""

    layers: int = option(4, "depth of the encoders", least=1)
    train_args: str = option(
        "", "more options for the fairseq-train of every encoder, as one quoted text"
    )
    device: str = option("cpu", "cpu or cuda", choices=("cpu", "cuda"))
    precision: str = precision_option()
    jobs: int = option(1, "steps that run at the same time", least=1)

    @property
    def encoders(self) -> SimilarityConfig:
        """How encoders are trained and written out, as in the similarity study."""
        common = {field.name for field in dataclasses.fields(SimilarityConfig)}
        values = {name: value for name, value in vars(self).items() if name in common}
        return SimilarityConfig(**values, compare_layers=self.read_layers, same=False)

    @property
    def layer_list(self) -> tuple[int, ...]:
        """The layers below a head, which every encoder of the study must have.

        Raises:
            UserError: for layers that do not exist.
        """
        depths = [self.layers]
        if ready := self.encoders.ready.values():
            from fairseq_xling.models.transfer_encoder import encoder_depth  # imports fairseq

            seeds = self.encoders.seed_list
            checkpoints = {one.of_seed(seed)[1] for one in ready for seed in seeds}
            depths = [encoder_depth(checkpoint) for checkpoint in checkpoints]
        return parse_layers(self.read_layers, min(depths), "--read-layers")

    def parallel(self, target: str) -> tuple[Path, Path]:
        """The text that maps are fitted on: the first language's side, and ``target``'s."""
        source = self.encoders.language_list[0]
        name = f"parallel/{self.map_split}.{source}-{target}"
        return self.encoders.text(f"{name}.{source}"), self.encoders.text(f"{name}.{target}")


# Conneau et al. (2020), Section 5.1.2, with encoders as in Section 3.1.
PRESETS = {"paper": {**PAPER, "languages": "en,fr,ru,zh", "normalize": "iterative"}}


def check_config(config: MappedLayersConfig) -> None:
    """Reject settings that cannot work, before anything runs."""
    from fairseq_xling.mapping.steps import parse_elements

    encoders = config.encoders
    check_encoders(encoders)
    languages = encoders.language_list
    _ = config.layer_list
    parse_elements(config.normalize)
    if any(row.mapped for row in encoders.row_list):
        for target in languages[1:]:
            config.parallel(target)
    if not config.task_table:
        raise UserError("`--tasks` must name at least one task, or `--task-head` its head")
    check_tasks(config, Path(config.data_text), languages)
    split_words("--head-train-args", config.head_train_args)
    if "--train-args" in split_words("--task-args", config.task_args):
        raise UserError("`--task-args` must leave `--train-args` to `--head-train-args`")
