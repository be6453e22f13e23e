"""Goldens of short trainings: losses of each update, weights at the end, hypotheses."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import sacrebleu

from fairseq_xling import USER_DIR
from tests.golden.world import inside, world

_COMMON = (
    f"--user-dir {USER_DIR} --cpu --num-workers 0 --max-update 5 --optimizer adam --lr 1e-3 "
    "--no-epoch-checkpoints --disable-validation --no-progress-bar --log-format json "
    "--log-interval 1 --seed 3 --save-dir out"
)
_SMALL = (
    "--encoder-layers 2 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 --max-positions 48 "
    "--max-tokens 256 --sample-break-mode sentence"
)
_LM = (
    f"w/data --task bilingual_mlm --arch separable_transformer_tiny --criterion unified_lm {_SMALL}"
)
_TRI = (
    "w/data --task cdlm --arch tri_bert_tiny --criterion unified_lm --objectives cdlm "
    f"--lm-head linear --norm-eps 1e-5 {_SMALL}"
)
_TAGS = "w/text/gold/tags"
_TUNE = (
    "w/data --task cross_lingual_transfer --arch cross_lingual_transfer --criterion "
    "cross_lingual_transfer --encoder w/lm.pt --batch-size 8"
)
_TREES = "--train-file en=w/text/gold/train.en.conllu --valid-file en=w/text/gold/valid.en.conllu"
_NLI = "--train-file en=w/text/gold/nli.train.en.tsv --valid-file en=w/text/gold/nli.valid.en.tsv"
_TAGGED = f"--train-file en={_TAGS}.train.en.tsv --valid-file en={_TAGS}.valid.en.tsv"
TRAININGS = {
    "mlm": f"{_LM} --objectives mlm",
    "mlm-separate": f"{_LM} --objectives mlm --separate emb,1",
    "mlm-bert": f"{_LM} --objectives mlm --lm-head bert --random-within-language",
    "tlm": f"{_LM} --objectives mlm,tlm --language-embeddings",
    "brlm-mask": f"{_LM} --objectives brlm-mask",
    "brlm-attn": f"{_LM} --objectives brlm-attn",
    "cdlm": f"{_TRI} --auxiliary order",
    "cdlm-separate": f"{_TRI} --separate emb",
    "cdlm-mlm": f"{_TRI.replace('--objectives cdlm', '--objectives cdlm,mlm')}",
    "nsp": f"{_TRI.replace('--objectives cdlm', '--objectives nsp,mlm')} --auxiliary nsp",
    "clcr": "w/data --task clcr --arch clcr --criterion clcr --max-tokens 300 "
    "--encoder en=w/lm.pt,de=w/lm.pt",
    "head-pos": f"{_TUNE} --head pos --columns token=0,tag=1 {_TAGGED}",
    "head-ner": f"{_TUNE} --head ner --columns token=0,tag=2 {_TAGGED} --unknown-labels wrong",
    "head-parsing": f"{_TUNE} --head parsing {_TREES}",
    "head-parsing_pos": f"{_TUNE} --head parsing_pos {_TREES}",
    "head-classification": f"{_TUNE} --head classification {_NLI}",
    "head-span_qa": f"{_TUNE} --head span_qa --train-file en=w/squad.json --valid-file "
    "en=w/squad.json",
}


def _weights(path: Path) -> Iterator[str]:
    """Each parameter with its sizes and the sum of its magnitudes."""
    from fairseq_xling.checkpoints.files import load_plain

    for name, value in load_plain(path)["model"].items():
        yield f"{name} {tuple(value.shape)} {value.double().abs().sum().item():.6g}"


def _run(program: str, words: str) -> Iterator[str]:
    from tests.end_to_end.engine import in_process

    try:
        output = in_process(program, *words.split())
    except (Exception, SystemExit) as error:
        yield f"{type(error).__name__}: {error}"
        return
    for row in re.findall(r"\| train_inner \| (\{.*\})", output):
        yield re.sub(r', "(wps|ups|train_wall|wall|wpb|gb_free)": "[^"]*"', "", row)
    for name, score, text in re.findall(r"^([HD]-\d+)\t(\S+)\t(.*)$", output, re.M):
        yield f"{name}\t{float(score):.6g}\t{text}"


def _training(name: str) -> str:
    with inside(world()):
        shutil.rmtree("out", ignore_errors=True)
        lines = [f"== {name}", *_run("train", f"{TRAININGS[name]} {_COMMON}")]
        last = Path("out/checkpoint_last.pt")
        if last.is_file():
            lines += _weights(last)
    return "\n".join(lines) + "\n"


def _translation() -> str:
    """Hypotheses of a translator that has hardly learnt anything, and their BLEU."""
    with inside(world()):
        shutil.rmtree("out", ignore_errors=True)
        list(_run("train", f"{TRAININGS['cdlm']} {_COMMON.replace('-update 5', '-update 40')}"))
        lines = ["== translation"]
        for ordering in ("identity", "oracle", "predicted"):
            hypotheses = list(
                _run(
                    "generate",
                    "w/data --path out/checkpoint_last.pt --task cdlm --source-lang en "
                    f"--target-lang de --gen-subset test --max-tokens 256 --user-dir {USER_DIR} "
                    f"--cpu --num-workers 0 --ordering {ordering}",
                )
            )
            said = sorted(line for line in hypotheses if line.startswith("D-"))
            text = [line.split("\t")[2] for line in said]
            gold = Path("w/text/parallel/test.en-de.de.txt").read_text().splitlines()
            numbers = [int(line.split("\t")[0][2:]) for line in said]
            bleu = sacrebleu.corpus_bleu(text, [[gold[number] for number in numbers]])
            lines += [f"ordering {ordering}", *hypotheses, f"BLEU {bleu.score:.6f}"]
    return "\n".join(lines) + "\n"


def slow_goldens() -> dict[str, Callable[[], str]]:
    """A golden for each training; the processor decides them, too."""
    return {
        **{f"bound/train-{name}": lambda name=name: _training(name) for name in TRAININGS},
        "bound/translation": _translation,
    }
