"""Batches made row by row, each row with a generator of its own: the slow way that ours equals."""

import numpy as np
import torch

from fairseq_xling.data.folder import CLS, MASK, PAD, SEP, SPECIALS
from fairseq_xling.data.plan import feed_salt
from fairseq_xling.data.sampling import mix, permute
from fairseq_xling.data.sources import NEXT, NOT_NEXT, Pairs, Row, SegmentPairs, Sentences, Side
from fairseq_xling.data.unpadded import _ALIGNED, _SEGMENTS, rounded


def generator(seed, use, key, counter):
    words = np.array([mix(seed, use, feed_salt(key)), counter], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=words))


# ---- rows


def framed(tokens, most):
    tokens = [CLS, *tokens.tolist()]
    return np.array(tokens if len(tokens) <= most else [*tokens[: most - 1], SEP])


def framed_order(stored, source, target):
    links = [0, *(link if 0 < link < source - 1 else -1 for link in stored.tolist())][:target]
    return np.array([*links[:-1], source - 1])


def framed_further(stored, size, source, target):
    table = np.full((target, len(stored) // size), -1)
    for row, links in enumerate(stored.reshape(size, -1)[: target - 2], start=1):
        table[row] = [link if 0 < link < source - 1 else -1 for link in links]
    return table


def read(source, index):
    """Row ``index``, read alone."""
    if isinstance(source, Sentences):
        return Row(Side(framed(source.file[index], source.max_positions), source.languages[0]))
    if isinstance(source, SegmentPairs):
        count, lang, room = len(source.file), source.languages[0], source.max_positions - 1
        one, passes = index % len(source) // 2, index // len(source)
        other = one + 1
        if index % 2:
            other = int(permute(np.array([one]), count, 1, 0, passes)[0])
            other = (one + 2) % count if other in (one, one + 1) else other
        first = framed(source.file[one], 1 + room - room // 2)
        second = framed(source.file[other], 1 + room // 2)[1:]
        return Row(Side(first, lang), Side(second, lang), follows=index % 2 == 0)
    if isinstance(source, Pairs):
        both = [
            framed(file[index], source.max_positions) for file in (source.source, source.target)
        ]
        lengths = [len(tokens) for tokens in both]
        order = further = None
        if source.order is not None:
            order = framed_order(source.order[index], *lengths)
        if source.further is not None:
            size = int(source.target.sizes[index])
            further = framed_further(source.further[index], size, *lengths)
        return Row(*map(Side, both, source.languages), order, further=further)
    if hasattr(source, "step"):
        block = source.file.tokens[index * source.step :][: source.step].tolist()
        return Row(Side(np.array([CLS, *block]), source.languages[0]))
    return source[index]


# ---- examples: ``(objective, row, generator)`` -> src, tgt, order, extra, further


def chosen_of(objective, side, rng):
    words = np.flatnonzero(side.tokens >= SPECIALS)
    count = int(objective.cfg.mask_prob * len(words) + rng.random())
    return np.isin(np.arange(len(side.tokens)), rng.permutation(words)[:count])


def hidden_of(objective, side, chosen, rng):
    cfg, tokens = objective.cfg, side.tokens.copy()
    draw = rng.random(int(chosen.sum()))
    places = np.flatnonzero(chosen)
    swapped = places[draw < cfg.random_token]
    tokens[places[draw >= cfg.leave_unmasked + cfg.random_token]] = MASK
    if len(swapped) and cfg.random_within_language:
        tokens[swapped] = rng.choice(objective.vocabulary.own[side.lang], len(swapped))
    elif len(swapped):
        size = objective.vocabulary.sizes[side.lang]
        tokens[swapped] = rng.integers(SPECIALS, size, len(swapped))
    return tokens


def plain(objective, *sides):
    numbers = objective.vocabulary.lang_ids
    return {
        "tokens": np.concatenate([side.tokens for side in sides]),
        "langs": np.concatenate([np.full(len(s.tokens), numbers[s.lang]) for s in sides]),
        "positions": np.concatenate([np.arange(len(side.tokens)) for side in sides]),
    }


def masked(objective, sides, rng, chosen=None):
    chosen = chosen or [chosen_of(objective, side, rng) for side in sides]
    hidden = [hidden_of(objective, s, c, rng) for s, c in zip(sides, chosen, strict=True)]
    both = plain(objective, *sides)
    src = {**both, "tokens": np.concatenate(hidden)}
    return src, {**both, "predict": np.concatenate(chosen)}, None, {}, None


def mlm(objective, row, rng):
    return masked(objective, [row.source], rng)


def tlm(objective, row, rng):
    return masked(objective, [row.source, row.target], rng)


def nsp(objective, row, rng):
    joined = Side(np.concatenate([row.source.tokens, row.target.tokens]), row.source.lang)
    src, tgt, _, _, _ = masked(objective, [joined], rng)
    src["segments"] = np.repeat([0, 1], [len(row.source.tokens), len(row.target.tokens)])
    return src, tgt, None, {"next": np.array([NEXT if row.follows else NOT_NEXT])}, None


def brlm_attn(objective, row, rng):
    src, *rest = masked(objective, [row.source, row.target], rng)
    linked = set(row.order.tolist())
    groups = [n + 3 if n in linked else 1 for n in range(len(row.source.tokens))]
    src["attn_group"] = np.array(groups + [n + 3 if n >= 0 else 2 for n in row.order.tolist()])
    return src, *rest


def brlm_mask(objective, row, rng):
    source, target = row.source.tokens, row.target.tokens
    linked = [
        n >= 0 and source[n] >= SPECIALS and word >= SPECIALS
        for n, word in zip(row.order.tolist(), target, strict=True)
    ]
    bridges = np.unique(row.order[linked])
    count = int(objective.cfg.mask_prob * len(bridges) + rng.random())
    hidden = np.isin(np.arange(len(source)), rng.permutation(bridges)[:count])
    chosen = [hidden, np.array(linked) & hidden[row.order]]
    return masked(objective, [row.source, row.target], rng, chosen)


def translated(objective, row, order, extra, further=None, predict=True):
    tgt = plain(objective, row.target)
    tgt["predict"] = np.full(len(row.target.tokens), predict)
    return plain(objective, row.source), tgt, order, extra, further


def cdlm(objective, row, rng):
    slots = [n for n in row.order.tolist() if n >= 0]
    kept = {*slots, 0, len(row.source.tokens) - 1}
    extra = {"reordered": [1] * max(1, len(slots)), "kept": [1] * len(kept)}
    extra = {name: np.array(marks) for name, marks in extra.items()}
    return translated(objective, row, row.order, extra, row.further)


def translation(objective, row, rng):
    order = np.full(len(row.target.tokens), -1)
    return translated(objective, row, order, {"reordered": np.array([1])})


def word_alignment(objective, row, rng):
    return translated(objective, row, row.order, {}, predict=False)


EXAMPLES = {
    "mlm": mlm,
    "tlm": tlm,
    "nsp": nsp,
    "brlm-attn": brlm_attn,
    "brlm-mask": brlm_mask,
    "cdlm": cdlm,
    "translation": translation,
    "word-alignment": word_alignment,
}


# ---- batches


def padded(rows, fill):
    width = max(len(row) for row in rows)
    rows = [np.append(row, np.full(width - len(row), fill, row.dtype)) for row in rows]
    return torch.from_numpy(np.stack(rows))


def padded_side(sides):
    names = dict.fromkeys(name for side in sides for name in side)
    lengths = [len(side["tokens"]) for side in sides]
    made = {}
    for name in names:
        rows = [side.get(name, np.zeros(n, int)) for side, n in zip(sides, lengths, strict=True)]
        made[name] = padded(rows, PAD if name == "tokens" else 0)
    if len(set(lengths)) > 1:
        made["padding_mask"] = padded([np.zeros(n, bool) for n in lengths], True)
    return made


def batch(dataset, spec, layout=None):
    """What ``dataset[spec]`` is; ``layout`` is None, or whether rows have null states."""
    feeds = [dataset.feeds[n] for n in spec.feeds.tolist()]
    counters = spec.counters.tolist()
    rows = [read(f.source, i) for f, i in zip(feeds, spec.indices.tolist(), strict=True)]
    for place, transform in enumerate(dataset.transforms):
        rows = transform(rows, generator(dataset.seed, place + 1, feeds[0].key, counters[0]))
    examples = []
    for feed, row, counter in zip(feeds, rows, counters, strict=True):
        rng = generator(dataset.seed, 0, feed.key, counter)
        examples.append(EXAMPLES[feed.objective.name](feed.objective, row, rng))
    sources, targets, orders, extras, tables = zip(*examples, strict=True)
    net_input = {"src": padded_side(sources), "tgt": padded_side(targets)}
    tgt = net_input["tgt"]
    depth = max((table.shape[1] for table in tables if table is not None), default=0)
    if depth:
        tgt["further"] = torch.full((*tgt["tokens"].shape, depth), -1)
        for b, table in enumerate(tables):
            if table is not None:
                tgt["further"][b, : len(table), : table.shape[1]] = torch.from_numpy(table)
    if any(order is not None for order in orders):
        lengths = [len(side["tokens"]) for side in targets]
        own = [
            np.arange(n) if order is None else order
            for order, n in zip(orders, lengths, strict=True)
        ]
        net_input["order"] = padded(own, -1)
    pairs = {(f.source.languages[0], f.source.languages[-1]) for f in feeds}
    if len(pairs) == 1 and not any(f.objective.mixes_source_languages for f in feeds):
        net_input["pair"] = pairs.pop()
    if layout is not None:
        net_input["unpadded"] = unpadded(examples, layout)
    none = {name: array[:0] for extra in extras for name, array in extra.items()}
    if none:
        net_input["extra"] = {
            name: padded([extra.get(name, none[name]) for extra in extras], 0)
            for name in sorted(none)
        }
    target = tgt["tokens"].clone()
    target[~tgt["predict"]] = PAD
    return {
        "id": torch.from_numpy(spec.indices),
        "nsentences": len(examples),
        "ntokens": sum(len(side["tokens"]) for side in sources),
        "net_input": net_input,
        "target": target,
        "objective": torch.tensor([dataset._objective_ids[n] for n in spec.feeds.tolist()]),
    }


# ---- the layout without padding


def segments(groups, width, null):
    """A layout of rows whose states have these ``groups``, and where each state of each row is."""
    index, place, starts, ranks, count = [], [], [], [], 0
    for b, row in enumerate(groups):
        order = np.argsort(row, kind="stable").tolist()
        ranks.append({t: count + rank for rank, t in enumerate(order)})
        for rank, t in enumerate(order):
            last = null and t == len(row) - 1
            if not rank or row[t] != row[order[rank - 1]]:
                starts.append(count + rank)
            index.append(b * width + (0 if last else t))
            place.append(b * (width + null) + (width if last else t))
        count += len(row)
    sizes = np.diff([*starts, count])
    longest = -(-int(sizes.max()) // _ALIGNED) * _ALIGNED
    total, mean = rounded(count), count // len(starts)
    bounds = [*starts, *range(count, total, longest), total]
    bounds += [total] * (-len(bounds) % _SEGMENTS)
    layout = {
        "index": torch.tensor(index + [0] * (total - count)),
        "place": torch.tensor(place),
        "bounds": torch.tensor(bounds, dtype=torch.int32),
        "longest": longest,
        "mean": mean,
    }
    if null:
        layout["null"] = torch.tensor([rank[len(rank) - 1] for rank in ranks])
    return layout, ranks


def unpadded(examples, null):
    groups = [src.get("attn_group", np.zeros(len(src["tokens"]), int)) for src, *_ in examples]
    within = [np.append(group, 0) if null else group for group in groups]
    layout, ranks = segments(within, max(map(len, groups)), null)
    found, target = {"src": layout}, ranks
    if null:
        links = [
            [[n] for n in (range(len(tgt["tokens"])) if order is None else order.tolist())]
            for _, tgt, order, _, _ in examples
        ]
        own = [[group[n] for (n,) in row] for group, row in zip(within, links, strict=True)]
        found["tgt"], target = segments(own, max(map(len, links)), False)
        depth = max((e[4].shape[1] for e in examples if e[4] is not None), default=0)
        read = np.zeros((len(found["tgt"]["index"]), 1 + depth), dtype=np.int64)
        shares = np.zeros(read.shape, dtype=np.float32)
        for b, (*_, table) in enumerate(examples):
            last = len(within[b]) - 1
            for u, (first,) in enumerate(links[b]):
                more = [] if table is None else table[u].tolist()
                row = [first, *more, *[-1] * (depth - len(more))]
                linked = np.array([n >= 0 for n in row])
                linked[0] |= not linked.any()
                read[target[b][u]] = [ranks[b][last if n < 0 else n] for n in row]
                shares[target[b][u]] = linked / linked.sum()
        found["tgt"]["read"] = torch.from_numpy(read if depth else read[:, 0])
        if depth:
            found["tgt"]["shares"] = torch.from_numpy(shares)
    where = [(b, int(u)) for b, e in enumerate(examples) for u in np.flatnonzero(e[1]["predict"])]
    rows, columns = np.array(where, dtype=np.int64).reshape(-1, 2).T
    found["predicted"] = torch.tensor([target[b][u] for b, u in where], dtype=torch.int64)
    return {**found, "rows": torch.from_numpy(rows), "columns": torch.from_numpy(columns)}
