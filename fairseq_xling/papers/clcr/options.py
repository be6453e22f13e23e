"""The options of `clcr train` and `clcr run`, which the studies of CLCR share.

Defaults suit small encoders on a CPU. ``preset: paper`` has the paper's settings (Sections 3 and 4,
Appendix C): layer 9 of 12, beta 0.01 and its own attention. It uses 250,000 sentence pairs, and
reports neither steps nor learning rates.
"""

import dataclasses

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.options import like, option, reads
from fairseq_xling.core.ranges import option_name
from fairseq_xling.papers.clcr.phases import ENCODERS, FROZEN
from fairseq_xling.studies.optimiser import Optimiser
from fairseq_xling.workflow.options import WithSeeds, seeds_option, split_words
from fairseq_xling.workflow.settled import device_option, precision_option

PRESETS = {
    "paper": {
        "layer": "9",
        "transform": "residual",
        "attention_score": "transformed",
        "distance_norm": "l2",
        "anneal_beta": 0.01,
        "anneal_phases": "lm1,lm2",
        "rounds": 1,
        "delta": 0.2,
        "extract_hidden": 0,
        "confident": True,
        "orders": "rel,abs",
        "beam": 10,
        "weigh": "sign",
        "rows": "T+pGA,T,T+E,T+E+R",
    }
}


@dataclasses.dataclass(frozen=True)
class Options(WithSeeds):
    """One sentence of help per field."""

    preset: str = option("", "values of the published system: paper")
    data: str = reads("", "data folder with parallel text, whose ids both encoders share")
    pair: str = option("", "the two languages, e.g. en,de (default: the folder's only pair)")
    encoder: tuple[str, ...] = reads((), "LANG=PATH of a pretrained encoder; one for each language")
    encoder_data: tuple[str, ...] = reads(
        (), "LANG=DIR, an encoder's own data folder, if not as in its training"
    )
    layer: str = option("", "layer to use, e.g. 9 or en=9,de=4 (default: three quarters up)")

    transform: str = option("residual", "T: residual or linear")
    attention_score: str = option(
        "transformed", "attention score: transformed, exclusive, raw, keys"
    )
    distance_norm: str = option("l2", "norm of a distance: l2 or l1")
    anneal_beta: float = option(
        0.01, "temperature 1 / (1 + beta * updates); 0 disables it", least=0
    )
    anneal_phases: str = option(
        "transform,lm1,lm2", "phases whose attention is annealed; lm1,lm2 is the paper's Figure 1"
    )
    transform_steps: int = option(2000, "steps of the transforms alone", least=1)
    transform_lr: float = option(5e-3, "their learning rate", least=0)
    transform_args: str = option("", "more options of their fairseq-train, as one text")
    rounds: int = option(1, "rounds of training the encoders in turn; 0 trains neither", least=0)
    lm_steps: int = option(500, "steps of each encoder's training", least=1)
    lm_lr: float = option(1e-3, "its learning rate", least=0)
    lm_args: str = option("", "more options of its fairseq-train, as one text")

    threshold: float = option(0.0, "maximum distance of pivots; 0 tunes it", least=0)
    tune_on: str = option("valid", "split with a word alignment, for tuning the threshold")

    extract_steps: int = option(
        500, "steps of the key-point classifiers; 0 skips them and R", least=0
    )
    extract_lr: float = option(1e-3, "their learning rate", least=0)
    delta: float = option(0.2, "keep words with p(key-point) above this")
    extract_hidden: int = option(0, "hidden width of the classifiers; 0 is linear", least=0)
    extract_encoder: str = option(
        FROZEN,
        "states the classifiers read: frozen, the aligned ones, or finetune, those of their own "
        "copies of the encoders, which are trained with them",
        choices=ENCODERS,
    )
    confident: bool = option(True, "reweight labels that are probably wrong")
    flip_rates: str = option("", "shares of wrong labels, e.g. 0.2,0.1 (default: estimated)")
    extract_args: str = option("", "more options of their fairseq-train, as one text")

    orders: str = option("rel,abs", "order heads to train; the first is used for encoding")
    order_sides: str = option(
        "first",
        "languages of the pair whose heads are trained to put them into the other's order: first, "
        "second or both with a comma; T+E+R reorders the first that is named",
    )
    order_steps: int = option(1000, "steps of each head; 0 skips them", least=0)
    order_lr: float = option(1e-3, "their learning rate", least=0)
    order_args: str = option("", "more options of their fairseq-train, as one text")
    beam: int = option(10, "beam width of the search for an order", least=1)
    weigh: str = option("", "cost of a wrong order, as of `clcr encode` (default: likelihood)")

    rows: str = option(
        "T,T+E,T+E+R", "sequences to write: T, T+E, T+E+R, T+pGA, T+pGA-target, states"
    )
    encode_pairs: tuple[str, ...] = reads(
        (), "NAME=FILE_A,FILE_B of translations to encode, in the pair's order; repeatable"
    )
    encode_text: tuple[str, ...] = reads(
        (), "NAME.LANG=FILE of text to encode, in rows that need no translation; repeatable"
    )
    dtype: str = option("float16", "type of vectors on disk", choices=("float16", "float32"))
    batch_size: int = option(0, "maximum sentence pairs per batch; 0 is no limit", least=0)
    max_tokens: int = option(4000, "maximum padded tokens per side and batch", least=1)
    update_freq: int = like(Optimiser, "update_freq")
    warmup: int = like(Optimiser, "warmup")
    schedule: str = like(Optimiser, "schedule")
    adam_betas: str = like(Optimiser, "adam_betas")
    adam_eps: float = like(Optimiser, "adam_eps")
    weight_decay: float = like(Optimiser, "weight_decay")
    clip: float = like(Optimiser, "clip")
    every: int = like(Optimiser, "every")
    checkpoint: str = option(
        "last",
        "checkpoint for the next training: last, or best by its loss, for transforms by the "
        "distance to best partners alone",
        choices=("last", "best"),
    )
    train_args: str = option("", "more options of every fairseq-train, as one text")
    seeds: str = seeds_option("1", "seeds of training; each is a separate model")
    device: str = device_option()
    precision: str = precision_option()
    jobs: int = option(1, "steps that run at the same time", least=1)

    @property
    def languages(self) -> list[str]:
        """The two of ``pair``, once `run.check` has found them."""
        return parse_languages(self.pair, "--pair")

    @property
    def order_list(self) -> list[str]:
        names = _names("orders", self.orders)
        return names if self.order_steps and self.extract_steps else []

    @property
    def side_list(self) -> list[str]:
        return _names("order-sides", self.order_sides)

    @property
    def row_list(self) -> list[str]:
        return _names("rows", self.rows)

    def words(self, field: str) -> tuple[str, ...]:
        """The options in a field that contains several as one text; errors as of `split_words`."""
        return split_words(f"--{option_name(field)}", getattr(self, field))


def _names(field: str, text: str) -> list[str]:
    names = names_in(text)
    if len({*names}) < len(names):
        raise UserError(f"`--{field}` must be different, got {text!r}")
    return names
