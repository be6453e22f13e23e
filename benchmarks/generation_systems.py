"""The systems that `generation` compares; each becomes a function that translates all batches.

All have random weights of the same width and number of layers, the same dictionary and the same
batches of source sentences; a step returns how many sentences it translated. An autoregressive
model with random weights would never stop by itself, so the mean length of a batch's references is
the length of all its translations: as many steps as a trained model needs, and none for stragglers.
"""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairseq.options as options
import numpy as np
import torch
from common import Step
from fairseq import tasks
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_CONFIG_REGISTRY
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator

import fairseq_xling.plugin  # noqa: F401  registers our task, model and criterion
from fairseq_xling.data.batch import source_side
from fairseq_xling.data.folder import CLS, PAD, SEP
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan

Batch = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What all systems have in common.

    ``layers`` are ours; of a stock model the encoder and the decoder have half of them each, or
    all with ``full_stock``.
    """

    data: Path
    subset: str
    pair: tuple[str, str]
    sentences: int
    batch: int
    layers: int
    full_stock: bool
    dim: int
    heads: int
    vocab: int
    threads: int
    seed: int
    device: str

    @property
    def stock_layers(self) -> int:
        return self.layers if self.full_stock else self.layers // 2


@dataclass(frozen=True)
class System:
    """A system ready to be timed; ``parameters`` is 0 where nobody can tell."""

    step: Step
    parameters: int


class Ours:
    """Task, batches and dictionary that every system works with."""

    def __init__(self, setting: Setting):
        self.setting = setting
        self.task = self._task()
        self.task.load_dataset(setting.subset, task_cfg=None)
        dataset = self.task.dataset(setting.subset)
        batches = self.task.get_batch_iterator(
            dataset, max_sentences=setting.batch
        ).next_epoch_itr()
        # Whole batches from all lengths: every so-manieth of those sorted by length.
        every = [batch for batch in batches if batch["nsentences"] == setting.batch]
        wanted = max(1, setting.sentences // setting.batch)
        picked = np.unique(np.linspace(0, len(every) - 1, min(wanted, len(every))).astype(int))
        self.batches: list[Batch] = [_to(every[i], setting.device) for i in picked]
        if not self.batches:
            raise SystemExit(f"{setting.data}: fewer than {setting.batch} sentences")

    def _task(self, *flags: str) -> Any:
        s = self.setting
        arguments = [
            str(s.data),
            *("--task", "cdlm", "--source-lang", s.pair[0], "--target-lang", s.pair[1]),
            *(("--cpu",) if s.device == "cpu" else ()),
            *flags,
        ]
        parser = options.get_generation_parser()
        cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, arguments))
        task = tasks.setup_task(cfg.task)
        # A small text has a small vocabulary; the size of the softmax is what it is about.
        task.vocab_sizes = {lang: max(s.vocab, n) for lang, n in task.vocab_sizes.items()}
        return task

    @property
    def references(self) -> float:
        """Mean length of the references, ``</s>`` included."""
        return float(
            np.mean([int((b["target"] != PAD).sum()) / len(b["target"]) for b in self.batches])
        )

    @property
    def sources(self) -> float:
        """Mean length of the sources, ``</s>`` included."""
        return (
            float(torch.cat([b["net_input"]["src_lengths"] for b in self.batches]).float().mean())
            - 1
        )

    def dictionary(self) -> Dictionary:
        """That of the data folder, filled up to the size that the benchmark asks for."""
        filled = Dictionary()
        filled.update(self.task.source_dictionary)
        for number in range(self.setting.vocab - len(filled)):
            filled.add_symbol(f"filler{number}")
        return filled

    def all_batches(self, translate: Callable[[Batch], Any]) -> Step:
        """A step: every batch once, so that all systems are timed on the same lengths."""

        def step() -> tuple[int, int]:
            for batch in self.batches:
                translate(batch)
            slots = sum(int(batch["net_input"]["src_tokens"].numel()) for batch in self.batches)
            return sum(batch["nsentences"] for batch in self.batches), slots

        return step

    def system(self, *flags: str, half: bool = False, **model_options: Any) -> System:
        """Ours by the way of fairseq-generate, with the task options ``flags``."""
        s = self.setting
        task = self._task(*flags, *(("--cpu-bf16",) if half and s.device == "cpu" else ()))
        torch.manual_seed(s.seed)
        cfg = Namespace(
            arch="tri_bert_base",
            encoder_layers=s.layers,
            encoder_embed_dim=s.dim,
            encoder_ffn_embed_dim=4 * s.dim,
            encoder_attention_heads=s.heads,
            auxiliary="order",
            **model_options,
        )
        ARCH_CONFIG_REGISTRY["tri_bert_base"](cfg)
        task.cfg.objectives = "cdlm"
        model = task.build_model(cfg).eval().to(s.device)
        _usual_lengths(model.auxiliary["order"])
        if half and s.device != "cpu":
            model.half()
        parameters = _count(model)
        generator = task.build_generator([model], Namespace())
        step = self.all_batches(lambda batch: task.inference_step(generator, [model], batch))
        return System(step, parameters)

    def bare(self, half: bool = False) -> System:
        """One pass of an encoder of the same size without TRILayer: logits and argmax."""
        s = self.setting
        torch.manual_seed(s.seed)
        shape = EncoderShape(
            s.layers,
            s.dim,
            4 * s.dim,
            s.heads,
            512,
            num_segments=2,
            lm_head="bert",
            language_embeddings=True,
        )
        encoder = SeparableEncoder(shape, self.task.vocab_sizes, SharingPlan()).eval().to(s.device)
        if half:
            encoder.to(torch.bfloat16 if s.device == "cpu" else torch.float16)

        @torch.no_grad()
        def translate(batch: Batch) -> torch.Tensor:
            net_input = batch["net_input"]
            src = source_side(net_input["src_tokens"], net_input["src_lengths"], 0)
            real = src["tokens"] != PAD
            real[:, 0] = False  # <s> is not written
            tokens = encoder.logits(encoder.states(src)[-1][real]).argmax(-1)
            return tokens.cpu()

        return System(self.all_batches(translate), _count(encoder))


def stock(ours: Ours, beam: int) -> System:
    """fairseq's transformer and SequenceGenerator."""
    model, dictionary = _stock_model(ours)
    model.prepare_for_inference_(Namespace(generation=Namespace(beam=beam)))
    model.to(ours.setting.device)
    generator = SequenceGenerator([model], dictionary, beam_size=beam)
    generator.to(ours.setting.device)

    def translate(batch: Batch) -> None:
        generator.min_len = generator.max_len_b = _steps(batch)
        net_input = batch["net_input"]
        # Without <s>, and padded on the left, as fairseq's translation task has it.
        lengths = net_input["src_lengths"] - 1
        rows = [
            row[1 : n + 1] for row, n in zip(net_input["src_tokens"], lengths.tolist(), strict=True)
        ]
        tokens = torch.nn.utils.rnn.pad_sequence(rows, True, PAD, padding_side="left")
        generator.generate([model], {"net_input": {"src_tokens": tokens, "src_lengths": lengths}})

    return System(ours.all_batches(translate), _count(model))


def ctranslate2_system(ours: Ours, beam: int, compute_type: str) -> System:
    """The same stock model, converted by CTranslate2's own functions."""
    from ctranslate2_model import convert

    model, dictionary = _stock_model(ours)
    translator = convert(model, dictionary, dictionary, compute_type, ours.setting.threads)

    def translate(batch: Batch) -> None:
        sources = [
            [dictionary[i] for i in row.tolist() if i not in (CLS, PAD, SEP)]
            for row in batch["net_input"]["src_tokens"]
        ]
        length = _steps(batch)
        translator.translate_batch(
            sources,
            beam_size=beam,
            min_decoding_length=length,
            max_decoding_length=length,
            max_batch_size=0,
        )

    return System(ours.all_batches(translate), _count(model))


def _stock_model(ours: Ours) -> tuple[TransformerModel, Dictionary]:
    s, dictionary = ours.setting, ours.dictionary()
    torch.manual_seed(s.seed)
    args = Namespace(
        encoder_layers=s.stock_layers,
        decoder_layers=s.stock_layers,
        encoder_embed_dim=s.dim,
        decoder_embed_dim=s.dim,
        encoder_ffn_embed_dim=4 * s.dim,
        decoder_ffn_embed_dim=4 * s.dim,
        encoder_attention_heads=s.heads,
        decoder_attention_heads=s.heads,
        share_all_embeddings=True,
    )
    base_architecture(args)
    task = Namespace(source_dictionary=dictionary, target_dictionary=dictionary)
    return TransformerModel.build_model(args, task).eval(), dictionary


def _usual_lengths(head: Any) -> None:
    """Let a head with random weights propose lengths like a trained one's.

    Each source token becomes none, one or two target tokens, nothing stands without a source: as
    long as the source on average, some 15 % more or less in a sentence.
    """
    with torch.no_grad():
        head.fertility.weight.mul_(6.0)
        head.fertility.bias.copy_(torch.tensor([-1.5, 0.0, -1.5] + [-100.0] * 5))
        head.nulls.bias[0] = 100.0


def _steps(batch: Batch) -> int:
    """The mean length of the references, without ``</s>``."""
    return round(int((batch["target"] != PAD).sum()) / len(batch["target"])) - 1


def _to(batch: Batch, device: str) -> Batch:
    moved = {k: v.to(device) for k, v in batch["net_input"].items()}
    return {**batch, "net_input": moved}


def _count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
