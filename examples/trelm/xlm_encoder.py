"""Pretrain a small English XLM from scratch, with transformers.

    python examples/trelm/xlm_encoder.py TRAIN_TEXT FOLDER --steps 1600

XLM (Lample and Conneau, 2019) is trained by masked LM on one language, as XLM-en-2048 is, the
source of TRI-XLM (TreLM, Table 2). FOLDER becomes what `save_pretrained` writes, with the BPE
vocabulary in XLM's own form. A finished FOLDER with the same settings is left as it is; a training
that was killed starts again.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch
from fairseq.data.data_utils import batch_by_size

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import write_json
from fairseq_xling.core.folders import META, is_finished, new_folder
from fairseq_xling.core.progress import progress
from fairseq_xling.core.provenance import provenance
from fairseq_xling.core.ranges import COUNT, POSITIVE, SEED, Number
from fairseq_xling.core.texts import read_lines

try:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast
except ImportError:
    raise SystemExit(
        "xlm_encoder.py needs transformers: pip install 'fairseq_xling[benchmarks]'"
    ) from None

_SPECIAL = ["<s>", "</s>", "<pad>", "<unk>", *(f"<special{n}>" for n in range(10))]
_END = "</w>"
WARM_UP = 100


def learn_vocabulary(lines: list[str], size: int) -> Tokenizer:
    """BPE of words between spaces, with ``size`` pieces at most, XLM's specials among them."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix=_END))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    # The library numbers the ends of words in the order of a hash table, which differs between
    # processes; pieces that are given keep their order.
    ends = sorted({word[-1] + _END for line in lines for word in line.split()})
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[*_SPECIAL, *ends],
        end_of_word_suffix=_END,
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    # Sentences of XLM begin with the separator, too.
    tokenizer.post_processor = processors.BertProcessing(("</s>", 1), ("</s>", 1))
    return tokenizer


def batches(lengths: np.ndarray, max_tokens: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers of sentences, of similar length in a batch; the batches in random order. What is
    left at the end joins the last one."""
    order = np.lexsort((rng.random(len(lengths)), lengths))
    sizes = lengths[order]
    found = batch_by_size(order, None, num_tokens_vec=sizes, max_tokens=max_tokens)
    found[-2:] = [np.concatenate(found[-2:])]
    return [found[n] for n in rng.permutation(len(found))]


def train(lines: list[str], folder: Path, args: argparse.Namespace) -> None:
    """Write the trained model and its vocabulary to ``folder``."""
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    tokenizer = learn_vocabulary(lines, args.vocab_size)
    sentences = [encoding.ids[: args.max_positions] for encoding in tokenizer.encode_batch(lines)]
    config = transformers.XLMConfig(
        vocab_size=tokenizer.get_vocab_size(),
        emb_dim=args.width,
        n_layers=args.layers,
        n_heads=args.heads,
        max_position_embeddings=args.max_positions,
        attention_dropout=0.0,
        use_lang_emb=False,
    )
    model = transformers.XLMWithLMHeadModel(config)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **{"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<special1>"},
        **{"cls_token": "</s>", "sep_token": "</s>"},
    )
    collate = DataCollatorForLanguageModeling(fast, mlm_probability=0.15)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARM_UP, math.sqrt(WARM_UP / (step + 1)))
    )
    lengths = np.array([len(one) for one in sentences])
    waiting: list[np.ndarray] = []
    model.train()
    losses = []
    with progress(args.steps, "pretrain", " steps") as bar:
        for _ in range(args.steps):
            waiting = waiting or batches(lengths, args.max_tokens, rng)
            batch = collate([{"input_ids": sentences[n]} for n in waiting.pop()])
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            bar.update()
    last = losses[-100:]
    print(f"masked LM: {sum(last) / len(last) / math.log(2):.2f} bits per token at the end")
    model.save_pretrained(folder)
    tokenizer.model.save(str(folder))


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("text", metavar="TRAIN_TEXT", help="sentences, one a line, words between spaces")
    add("folder", metavar="FOLDER", type=Path, help="to write")
    add("--steps", type=Number(int, COUNT), default=1600, help="of training")
    add("--vocab-size", type=Number(int, COUNT), default=2000, help="subwords")
    add("--layers", type=Number(int, COUNT), default=4, help="of the encoder")
    add("--width", type=Number(int, COUNT), default=64, help="of its states")
    add("--heads", type=Number(int, COUNT), default=4, help="of attention")
    add("--max-positions", type=Number(int, COUNT), default=128, help="longest sentence in tokens")
    add("--max-tokens", type=Number(int, COUNT), default=2048, help="of a batch")
    add("--lr", type=Number(float, POSITIVE), default=3e-3, help="highest learning rate")
    add("--seed", type=SEED, default=1, help="of weights, masks and batches")
    args = parser.parse_args()
    if args.width % args.heads:
        raise UserError(f"`--width` must be a multiple of `--heads` {args.heads}, got {args.width}")
    settings = {name: value for name, value in vars(args).items() if name != "folder"}
    if not is_finished(args.folder, settings):
        with new_folder(args.folder, settings, "pretrain") as partial:
            lines = list(read_lines(args.text))
            if not any(line.split() for line in lines):
                raise UserError(f"{args.text}: contains no words")
            train(lines, partial, args)
            about = {"settings": settings, "provenance": provenance({"text": Path(args.text)})}
            write_json(partial / META, about)


if __name__ == "__main__":
    main()
