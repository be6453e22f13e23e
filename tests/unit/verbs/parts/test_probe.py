"""What probes measured, as a record."""

from fairseq_xling.reports.page import parts
from fairseq_xling.verbs.parts.output import as_text
from fairseq_xling.verbs.parts.probe import measurements, record_of


def scores(f1):
    counts = {"right": 6, "predicted": 10, "gold": 10}
    return {"precision": f1, "recall": f1, "f1": f1, **counts}


def record(layers):
    probes = [
        {
            "variant": f"layer0{layer}",
            "layers": [layer],
            "options": {"seed": seed},
            "dev_f1": [0.25, 0.5],
            "scores": {name: scores(0.5 + 0.1 * layer) for name in ("valid", "de.jsonl")},
            "without_vectors": {"de.jsonl": 0},
            "mix": None,
        }
        for layer in layers
        for seed in (1, 2)
    ]
    always = {"valid": 0.3, "de.jsonl": 0.25}
    return record_of(list(measurements(probes, {"de.jsonl": "de"}, always)), "NOUN", ["micro"])


def test_the_table_has_the_most_frequent_label_and_means_over_seeds():
    lines = [line.split() for line in as_text(record([0, 1])).splitlines()]
    assert ["probe", "dev", "F1", "de", "P", "de", "R", "de", "F1"] in lines
    assert ["always", "NOUN", "30.0", "25.0"] in lines
    assert ["layer01", *["60.0", "±", "0.0"] * 4] in lines


def test_one_layer_is_bars_and_several_are_curves_above_the_most_frequent_label():
    (bars,) = [axes.get_xlabel() for axes in parts(record([0]))[0].figure().axes[1:]]
    (axes,) = parts(record([0, 1]))[0].figure().axes
    lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
    assert bars == "de F1 (%)" and axes.get_xlabel() == "layer (0 = embedding output)"
    assert lines == {"dev": [50, 60], "de": [50, 60], "always NOUN (dev)": [30, 30]}
