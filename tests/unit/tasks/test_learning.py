"""What every head promises; and that on a small encoder it learns what is planted into its data.

SPEC E2 (a toy that can be separated, above 99 %), E5 and E6 (each head on synthetic data).
"""

import json
import random

import pytest
import torch
from torch import nn

from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.heads import find_labels, heads, total_counts
from fairseq_xling.tasks.items import parse_columns
from fairseq_xling.tasks.options import parse_options

WORDS = "the dog cat sees a big red house in rain he ran home and slept".split()
ANIMALS, PLACES = ("dog", "cat"), ("house", "home")


def text(draw, least=3, most=7):
    return draw.choices(WORDS, k=draw.randint(least, most))


def one_line(row):
    return json.dumps(row) + "\n"


def sentence(draw):
    """Is there a dog or a cat?"""
    words = [*text(draw, 1, 3), draw.choice((*ANIMALS, *PLACES)), *text(draw, 0, 2)]
    label = "yes" if set(words) & set(ANIMALS) else "no"
    return one_line({"sentence": " ".join(words), "label": label})


def pair(draw):
    """Is there one in the second text? In the first it does not count."""
    first, second = draw.choice((*ANIMALS, *PLACES)), draw.choice((*ANIMALS, *PLACES))
    row = {"sentence1": f"the {first} ran", "sentence2": f"he sees a {second}"}
    return one_line({**row, "label": str(int(second in ANIMALS))})


def wsc(draw):
    """The first span is the animal, or it is not."""
    words, span = ["the", *draw.sample([*ANIMALS, *PLACES], 2), "ran"], draw.choice((1, 2))
    line, marked = " ".join(words), words[span]
    target = {"span1_text": marked, "span1_index": line.index(f" {marked}") + 1}
    target |= {"span2_text": "ran", "span2_index": line.index("ran")}
    label = "true" if marked in ANIMALS else "false"
    return one_line({"text": line, "label": label, "target": target})


def tagged(draw):
    """Animals are entities, and so are places."""
    tags = {**dict.fromkeys(ANIMALS, "B-ANIMAL"), **dict.fromkeys(PLACES, "B-PLACE")}
    rows = [f"{word}\t{tags.get(word, 'O')}\n" for word in text(draw)]
    return "".join(rows) + "\n"


def tree(draw):
    """Each word hangs from the next one, the last from the root; its relation is its kind.

    Places are proper names.
    """
    words = text(draw)
    rows = []
    for number, word in enumerate(words, start=1):
        head = number % len(words) + 1 if number < len(words) else 0
        kind = "animal" if word in ANIMALS else "word"
        relation, tag = kind if head else "root", "PROPN" if word in PLACES else "X"
        rows.append(f"{number}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n")
    return "".join(rows) + "\n"


def frames(draw):
    """The predicate is ``sees``; animals are who sees, places are what is seen.

    Its sense is whether the word after it is an animal.
    """
    words = ["sees", *text(draw, 2, 5)]
    rows = []
    for number, word in enumerate(words, start=1):
        role = "A0" if word in ANIMALS else "A1" if word in PLACES else "_"
        sense = "see.02" if words[1] in ANIMALS else "see.01"
        is_predicate = ("Y", sense) if number == 1 else ("_", "_")
        cells = [str(number), word, "see", *"_" * 9, *is_predicate, role]
        rows.append("\t".join(cells) + "\n")
    return "".join(rows) + "\n"


def questions(draw):
    """The answer is the only animal, or there is none."""
    found = []
    for number in range(120):
        words = [word for word in text(draw) if word not in ANIMALS] or ["the"]
        answers = []
        if number % 3:
            animal = draw.choice(ANIMALS)
            words.insert(draw.randrange(len(words) + 1), animal)
            answers = [{"text": animal, "answer_start": " ".join(words).index(animal)}]
        question = {"id": str(number), "question": "who ran", "answers": answers}
        found.append({"context": " ".join(words), "qas": [question]})
        question["is_impossible"] = not answers
    return json.dumps({"data": [{"paragraphs": found}]})


def dialogues(draw):
    """The right choice is the only animal."""
    entries = []
    for _ in range(120):
        choices = [draw.choice(ANIMALS), *draw.sample(PLACES, 2)]
        answer = choices[0]
        draw.shuffle(choices)
        question = {"question": "he sees", "choice": choices, "answer": answer}
        entries.append([[" ".join(text(draw))], [question], "x"])
    return json.dumps(entries)


def many(row):
    return lambda draw: "".join(row(draw) for _ in range(120))


# By name: head, its format, columns, settings, a file's text, and how good is good enough.
CASES = {
    "sentence": ("classification", "json_lines", "text=sentence", "", many(sentence), 99),
    "pair": ("classification", "json_lines", "text=sentence1,pair=sentence2", "", many(pair), 99),
    "wsc": ("classification", "clue_wsc", "", "", many(wsc), 99),
    "ner": ("ner", "", "", "", many(tagged), 99),
    "parsing": ("parsing", "", "", "arc_dim=24,label_dim=12", many(tree), 97),
    "parsing_pos": ("parsing_pos", "", "", "arc_dim=24,label_dim=12", many(tree), 97),
    "srl": ("srl", "", "", "role_dim=24", many(frames), 99),
    "senses": ("srl", "", "", "role_dim=24,senses=yes", many(frames), 99),
    "span_qa": ("span_qa", "", "", "", questions, 95),
    "c3": ("multiple_choice", "c3", "", "", dialogues, 99),
}


# Learnt as "ner"; what every head promises is tried of them, too.
MORE = {
    "slots": ("slots", "", "", "", many(tagged), 99),
    "pos": ("pos", "", "", "", many(tagged), 99),
}


def prepared(name, codec, tmp_path):
    """The head of a case, and its datasets of training and of test."""
    kind, chosen, columns, options, write, _ = (CASES | MORE)[name]
    head_class, fields = heads[kind], parse_columns(columns)
    draw, sets = random.Random(1), []
    for split in ("train", "test"):
        path = tmp_path / split
        path.write_text(write(draw), encoding="utf-8")
        sets.append(list(find_format(head_class.format, chosen).read(path, fields)))
    options = ",".join(filter(None, (options, "dropout=0")))
    settings = parse_options(options, head_class.Options)
    head = head_class(find_labels(head_class, sets[0], settings), settings)
    return head, *(ItemDataset([(codec, 0, items)], head) for items in sets)


def random_network(head, dtype=torch.float32):
    torch.manual_seed(0)
    network = head.network(24).eval()
    for parameter in network.parameters():  # those of biaffine scores begin as zero
        nn.init.normal_(parameter, std=0.5)
    return network.to(dtype)


def outputs_of(network, dataset, rows, dtype=torch.float32):
    """Outputs over states that depend on the token and its place in the row, as an encoder's do."""
    batch = dataset.collater(rows)["net_input"]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        words, places = nn.Embedding(100, 24), nn.Embedding(64, 24)
    states = words(batch["src"]["tokens"]) + places(batch["src"]["positions"])
    return network(states.to(dtype), batch["fields"]), batch["fields"]


@pytest.mark.parametrize("name", [*CASES, *MORE])
@pytest.mark.parametrize("max_positions", [32, 6])
def test_an_item_alone_is_as_in_a_padded_batch(name, max_positions, codec, tmp_path):
    head, dataset, _ = prepared(name, codec(max_positions), tmp_path)
    network, count = random_network(head), min(len(dataset), 12)
    outputs, fields = outputs_of(network, dataset, range(count))
    answers, total, terms = head.decode(outputs, fields), 0.0, 0
    for number in range(count):
        alone, own = outputs_of(network, dataset, [number])
        assert head.decode(alone, own) == [answers[number]]
        loss, items = head.loss(alone, own)
        total, terms = total + loss, terms + int(items)
    loss, items = head.loss(outputs, fields)
    assert int(items) == terms
    torch.testing.assert_close(loss, total)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["parsing", "srl"])
def test_a_network_of_half_precision_scores_in_float32(name, dtype, codec, tmp_path):
    head, dataset, _ = prepared(name, codec(), tmp_path)
    network = random_network(head, dtype)
    outputs, fields = outputs_of(network, dataset, range(12), dtype)
    loss, _ = head.loss(outputs, fields)
    scores = outputs["arcs" if name == "parsing" else "logits"]
    assert scores.dtype == loss.dtype == torch.float32 and torch.isfinite(loss)
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


@pytest.mark.parametrize("name", CASES)
def test_what_is_planted_is_learned_and_holds_for_other_items(name, codec, tmp_path):
    head, train, test = prepared(name, codec(), tmp_path)
    torch.manual_seed(0)
    shape = EncoderShape(1, 24, 48, 4, 40, num_segments=2, dropout=0.0, attention_dropout=0.0)
    encoder = SeparableEncoder(shape, {"en": 100}, SharingPlan.parse("", 1))
    network = head.network(24)
    model = nn.ModuleList([encoder, network])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def outputs(dataset, rows):
        batch = dataset.collater(rows)["net_input"]
        states = encoder.states(batch["src"], batch["pair"])[-1]
        return network(states, batch["fields"]), batch["fields"]

    generator = torch.Generator().manual_seed(1)
    for _ in range(40):
        rows = torch.randperm(len(train), generator=generator)[:32].tolist()
        total, terms = head.loss(*outputs(train, rows))
        optimizer.zero_grad()
        (total / terms).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        predictions = head.decode(*outputs(test, range(len(test))))
    scores = head.scores(total_counts(head, test.items, predictions))
    assert min(scores.values()) > CASES[name][-1], scores
