"""Two languages of vectors with a planted tagging rule, and a tagger trained on them in a loop.

The rule: the tag of a word is a function of its class and of the class of the word before.
"""

from types import SimpleNamespace

import numpy as np
import torch

from fairseq_xling.models.tagging.adversaries import Settings, adversaries
from fairseq_xling.models.tagging.model import AdversarialTagger, Contents
from fairseq_xling.tasks.tagging import fresh_accuracy, pooled

CLASSES, LENGTH = 4, 6


def settings(width, **changes):
    """The model's options, small and without letters."""
    own = {
        **{"word_dim": width, "chars": "none", "char_filters": "shared", "char_dim": 5},
        **{"char_maps": 5, "char_widths": "2,3,4", "encoder_hidden": 8, "tagger_hidden": 16},
        **{"projection": 16, "dropout": 0.3, "tagger": "softmax", "discriminator_maps": 24},
        **{"discriminator_widths": "2,3", "discriminator_dropout": 0.2},
    }
    return SimpleNamespace(**{**own, **changes})


def draw(tables, classes, count, seed, lang, cue=None):
    """A part of ``count`` sentences of ``lang`` with the tags of the rule.

    ``classes`` (V,) are those of the words; the words of a class are equally frequent. With
    ``cue``, a word is one of those of its class whose cue says a tag: the right one, or in a share
    ``1 - cue`` another.
    """
    rng = np.random.default_rng(seed)
    kinds = rng.integers(CLASSES, size=(count, LENGTH))
    before = np.concatenate([np.zeros((count, 1), int), kinds[:, :-1]], 1)
    tags = (kinds + before) % 3
    if cue is None:
        of_class = [np.flatnonzero(classes == kind) for kind in range(CLASSES)]
        words = np.array([[rng.choice(of_class[kind]) for kind in row] for row in kinds])
    else:  # words are numbered by class, cue, and which of them
        copies = len(tables) // (CLASSES * 3)
        wrong = rng.random(tags.shape) > cue
        said = np.where(wrong, (tags + rng.integers(1, 3, tags.shape)) % 3, tags)
        words = (kinds * 3 + said) * copies + rng.integers(copies, size=tags.shape)
    return {
        "lang": lang,
        "words": torch.from_numpy(words) + 1,
        "lengths": torch.full((count,), LENGTH),
        "forms": torch.zeros(1, 1, dtype=torch.long),
        "form": torch.zeros(count, LENGTH, dtype=torch.long),
        "tag": torch.from_numpy(tags),
    }


def tagger(tables, w, adversary, **changes):
    """An untrained model with these frozen tables (V, D), to which a row of zeros is added."""
    rows = [torch.cat([torch.zeros(1, t.shape[1]), t]) for t in tables]
    words = {f"l{n}": [str(i) for i in range(len(t))] for n, t in enumerate(tables)}
    discriminates = adversaries[adversary].discriminates
    contents = Contents(words, [], ["a", "b", "c"], discriminates)
    model = AdversarialTagger(settings(tables[0].shape[1], **changes), contents)
    model.set_words(rows, w)
    return model


def train(
    model,
    adversary,
    source,
    target,
    updates,
    ramp=True,
    weight=1.0,
    lr=0.005,
    faster=1,
    batch=40,
    seed=1,
):
    """``model`` after ``updates`` on random batches of both parts; the target's tags are unread.

    The learning rate falls to a fiftieth; the discriminator's is ``faster`` times the others'.
    """
    losses = adversaries[adversary](Settings(smoothing=0.1, steps=3))
    own = [] if model.discriminator is None else list(model.discriminator.parameters())
    rest = [p for p in model.parameters() if not any(p is one for one in own)]
    groups = [{"params": rest, "lr": lr}, *([{"params": own, "lr": lr * faster}] if own else [])]
    optimizer = torch.optim.Adam(groups, betas=(0.5, 0.999))
    fall = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 - 0.98 * n / updates)
    generator = torch.Generator().manual_seed(seed)
    model.train()
    for update in range(updates):
        parts = [_some(source, batch, generator)]
        if model.discriminator is not None:
            part = _some(target, batch, generator)
            parts.append({name: value for name, value in part.items() if name != "tag"})
        share = 2 / (1 + np.exp(-10 * update / updates)) - 1 if ramp else 1.0

        def tag(found, parts=parts):
            return model.tagging_loss(found, parts)

        optimizer.zero_grad()
        losses(model, parts, update, weight * share, tag).total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        fall.step()
    return model.eval()


def _some(part, count, generator):
    rows = torch.randint(len(part["lengths"]), (count,), generator=generator)
    plain = ("lang", "forms")
    return {name: value if name in plain else value[rows] for name, value in part.items()}


@torch.no_grad()
def accuracy(model, part):
    """The share of words with the right tag, in percent."""
    found = model([part])["tags"]
    return 100 * float((found == part["tag"]).double().mean())


@torch.no_grad()
def language_accuracy(model, source, target):
    """That of a fresh classifier on pooled states."""
    found = [model([part]) for part in (source, target)]
    return fresh_accuracy(*(pooled(f["states"], f["lengths"]).numpy() for f in found))
