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

from fairseq_xling.data.example import Example
from fairseq_xling.data.folder import PAD


def pad_rows(rows: Sequence[np.ndarray], fill: int) -> torch.Tensor:
    """Rows (n_b,) as one (B, max n_b) tensor of their type, ``fill`` at the end of short ones."""
    lengths = np.array([len(row) for row in rows])
    padded = np.full((len(rows), lengths.max(initial=0)), fill, dtype=rows[0].dtype)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.concatenate(rows)
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
    examples: Sequence[Example],
    objective_ids: Sequence[int],
    ids: Sequence[int],
    pair: tuple[str, str] | None,
    layout: Callable[[Sequence[Example]], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """One batch from ``examples``, in their order, as at the top of this file; ``layout`` says
    where its real tokens are, for a model that leaves padding out."""
    src = _pad_side([example.src for example in examples])
    tgt = _pad_side([example.tgt for example in examples])
    further = pad_tables([example.further for example in examples], tgt["tokens"].shape[1])
    if further is not None:
        tgt["further"] = further
    net_input: dict[str, Any] = {"src": src, "tgt": tgt}
    if any(example.order is not None for example in examples):
        orders = [np.arange(len(e.tgt["tokens"])) if e.order is None else e.order for e in examples]
        net_input["order"] = pad_rows(orders, -1)
    if pair is not None:
        net_input["pair"] = pair
    if layout is not None:
        net_input["unpadded"] = layout(examples)
    extra = {name: array.dtype for example in examples for name, array in example.extra.items()}
    if extra:
        net_input["extra"] = {
            name: pad_rows([e.extra.get(name, np.empty(0, dtype)) for e in examples], 0)
            for name, dtype in sorted(extra.items())
        }
    return {
        "id": torch.tensor(ids, dtype=torch.long),
        "nsentences": len(examples),
        "ntokens": sum(len(example.src["tokens"]) for example in examples),
        "net_input": net_input,
        "target": tgt["tokens"].masked_fill(~tgt["predict"], PAD),
        "objective": torch.tensor(objective_ids, dtype=torch.long),
    }


def _pad_side(sides: Sequence[dict[str, np.ndarray]]) -> dict[str, torch.Tensor]:
    names = {name: None for side in sides for name in side}  # in order, without repeats
    padded = {}
    for name in names:  # a field that only some objectives have is 0 in the rows of the others
        rows = [side[name] if name in side else np.zeros_like(side["tokens"]) for side in sides]
        padded[name] = pad_rows(rows, PAD if name == "tokens" else 0)
    lengths = torch.tensor([len(side["tokens"]) for side in sides])
    width = padded["tokens"].shape[1]
    if int(lengths.min()) < width:
        padded["padding_mask"] = torch.arange(width) >= lengths[:, None]
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
