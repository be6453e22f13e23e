"""From examples to one padded batch, the same for every objective.

B examples, source length T, target length U:

    net_input: src {tokens, langs, positions, [segments], [attn_group], [padding_mask]}   (B, T)
               tgt {tokens, langs, positions, predict, [padding_mask]}                     (B, U)
                   [further]  (B, U, K), -1 = none: more positions than order has
               order (B, U), -1 = none; absent where every example has the identity
               pair  (source language, target language) if the whole batch has one, else absent
               extra {name: (B, ...)}
               unpadded  the layout of `data.unpadded`, where a model leaves padding out
    target     (B, U): W where it is predicted, else the padding id
    objective  (B,): the number of each example's objective
    id (B,), nsentences, ntokens

``padding_mask`` is True at padding, and absent where nothing is padded, so that a full batch takes
the faster unmasked attention without reading the tensor.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from fairseq_xling.data.example import Example, Examples
from fairseq_xling.data.folder import PAD


def pad_rows(rows: Sequence[np.ndarray], fill: int) -> torch.Tensor:
    """Rows (n_b,) as one (B, max n_b) tensor of their type, ``fill`` at the end of short ones."""
    lengths = np.array([len(row) for row in rows])
    return pad(np.concatenate(rows).astype(rows[0].dtype), lengths, fill)


def pad(values: np.ndarray, lengths: np.ndarray, fill: int) -> torch.Tensor:
    """Rows of ``lengths`` (B,) back to back, (N,), as `pad_rows`."""
    padded = np.full((len(lengths), lengths.max(initial=0)), fill, dtype=values.dtype)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = values
    return torch.from_numpy(padded)


def pad_tables(tables: Sequence[np.ndarray | None], length: int) -> torch.Tensor | None:
    """Tables (n_b, k_b) int64, or None for an empty one, as one (B, length, max k_b), -1 where a
    table has nothing; None if all are empty."""
    depth = max((table.shape[1] for table in tables if table is not None), default=0)
    if not depth:
        return None
    padded = np.full((len(tables), length, depth), -1)
    for row, table in zip(padded, tables, strict=True):
        if table is not None:
            row[: table.shape[0], : table.shape[1]] = table
    return torch.from_numpy(padded)


def collate(
    examples: Sequence[Example] | Examples,
    objective_ids: Sequence[int],
    ids: Sequence[int],
    pair: tuple[str, str] | None,
    layout: Callable[[Examples], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """One batch from ``examples``, in their order, as at the top of this file; ``layout`` says
    where its real tokens are, for a model that leaves padding out."""
    if not isinstance(examples, Examples):
        examples = Examples.of(examples)
    src = _pad_side(examples.src, examples.lengths)
    tgt = _pad_side(examples.tgt, examples.sizes)
    further = pad_tables(examples.further, tgt["tokens"].shape[1])
    if further is not None:
        tgt["further"] = further
    net_input: dict[str, Any] = {"src": src, "tgt": tgt}
    if examples.order is not None:
        net_input["order"] = pad(examples.order, examples.sizes, -1)
    if pair is not None:
        net_input["pair"] = pair
    if layout is not None:
        net_input["unpadded"] = layout(examples)
    if examples.extra:
        net_input["extra"] = {name: pad(*v, 0) for name, v in sorted(examples.extra.items())}
    return {
        "id": torch.tensor(ids, dtype=torch.long),
        "nsentences": len(examples.lengths),
        "ntokens": int(examples.lengths.sum()),
        "net_input": net_input,
        "target": tgt["tokens"].masked_fill(~tgt["predict"], PAD),
        "objective": torch.tensor(objective_ids, dtype=torch.long),
    }


def _pad_side(fields: dict[str, np.ndarray], lengths: np.ndarray) -> dict[str, torch.Tensor]:
    padded = {
        name: pad(values, lengths, PAD if name == "tokens" else 0)
        for name, values in fields.items()
    }
    width = padded["tokens"].shape[1]
    if lengths.min() < width:
        padded["padding_mask"] = torch.arange(width) >= torch.from_numpy(lengths)[:, None]
    return padded


def source_side(tokens: torch.Tensor, lengths: torch.Tensor, lang: int) -> dict[str, torch.Tensor]:
    """``tokens`` (B, T) as model inputs, with ``padding_mask`` only where one is needed."""
    width = tokens.shape[1]
    return {"tokens": tokens, **_places(lengths, width, lang, int(lengths.min()) < width)}


def target_side(
    lengths: torch.Tensor, lang: int | torch.Tensor, extent: tuple[int, bool] | None = None
) -> dict[str, torch.Tensor]:
    """``langs``, ``positions`` and perhaps ``padding_mask`` (R, U) of targets of ``lengths`` (R,).

    Args:
        lang: the language's number; (R,) if each row has its own.
        extent: U, and whether a row is shorter, where they are known: a GPU is waited for
            otherwise.

    >>> target_side(torch.tensor([3, 2]), 1)["positions"].tolist()
    [[0, 1, 2], [0, 1, 0]]
    """
    if extent is None:
        least, width = torch.stack(torch.aminmax(lengths)).tolist()
        extent = width, least < width
    width, padded = extent
    return _places(lengths, width, lang, padded)


def _places(
    lengths: torch.Tensor, width: int, lang: int | torch.Tensor, padded: bool
) -> dict[str, torch.Tensor]:
    # Copies: rows that share memory cannot be pinned, as batches for a GPU are.
    positions = torch.arange(width, device=lengths.device).repeat(len(lengths), 1)
    langs = torch.as_tensor(lang, device=lengths.device).reshape(-1, 1).expand_as(positions)
    langs = langs.contiguous()
    side = {"langs": langs, "positions": positions}
    if padded:
        mask = positions >= lengths[:, None]
        side |= {"positions": positions.masked_fill(mask, 0), "padding_mask": mask}
    return side
