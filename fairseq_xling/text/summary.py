"""The contents of a data folder, as the few lines that `prepare` prints at the end."""

from pathlib import Path
from typing import Any


def summary(out: str | Path, meta: dict[str, Any]) -> str:
    """Sizes, shares of the vocabulary's sample, and unknown tokens of every file."""
    vocab = meta["vocab"]
    sizes = ", ".join(f"{name} {size:,}" for name, size in vocab["sizes"].items())
    rows = [f"{out}: {vocab['mode']} vocabulary of {vocab['type']} pieces (ids: {sizes})"]
    for name, shares in vocab["sample_shares"].items():
        if len(shares) > 1:
            text = ", ".join(f"{lang} {share:.3f}" for lang, share in shares.items())
            rows.append(f"  {name}: learnt on {text}")
    for split, languages in meta["mono"].items():
        for lang, counts in languages.items():
            rows.append(
                f"  mono/{split}.{lang}: {counts['sentences']:,} sentences, "
                f"{counts['tokens']:,} tokens{_unknown(counts['unknown'], counts['tokens'])}"
            )
    for split, pairs in meta["parallel"].items():
        for pair, counts in pairs.items():
            tokens, unknown = sum(counts["tokens"].values()), sum(counts["unknown"].values())
            dropped = f", {counts['dropped']:,} with an empty side left out" * bool(
                counts["dropped"]
            )
            aligned = ", aligned both ways" if counts["orders"] else ", not aligned"
            rows.append(
                f"  parallel/{split}.{pair}: {counts['pairs']:,} pairs, {tokens:,} tokens"
                f"{_unknown(unknown, tokens)}{dropped}{aligned}"
            )
    if any(meta["anchors"].values()):
        used, skipped = meta["anchors"]["used"], meta["anchors"]["skipped"]
        rows.append(f"  anchors: {used:,} word pairs, {skipped:,} left out (unknown, or a phrase)")
    return "\n".join(rows)


def _unknown(unknown: int, tokens: int) -> str:
    return f" ({100 * unknown / tokens:.2f} % unknown)" if tokens else ""
