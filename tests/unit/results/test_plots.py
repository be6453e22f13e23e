from fairseq_xling.results.plots import BarPanel, Bars, draw_bars

PANEL = BarPanel(
    ["en", "de"],
    [Bars("plain", [0.5, None], [0.1, None]), Bars("shifted", [0.6, 0.7])],
    "F1 (share)",
    chance=(0.1, "chance"),
)


def test_bars_stand_in_groups_with_names_axis_and_legend():
    (axis,) = draw_bars([PANEL]).axes
    assert axis.get_xlabel() == "F1 (share)"
    assert [label.get_text() for label in axis.get_yticklabels()] == ["en", "de"]
    names = [text.get_text() for text in axis.get_legend().get_texts()]
    assert sorted(names) == ["chance", "plain", "shifted"]


def test_a_missing_value_has_no_bar_and_whiskers_are_deviations():
    (axis,) = draw_bars([PANEL]).axes
    plain, shifted = axis.containers[-2:]
    assert [bar.get_width() for bar in plain] == [0.5]
    assert [bar.get_width() for bar in shifted] == [0.6, 0.7]
    ((low, high),) = [sorted(x) for x in plain.errorbar.lines[2][0].get_segments()[0].T[:1]]
    assert (round(low, 6), round(high, 6)) == (0.4, 0.6)


def test_series_differ_without_their_colours():
    (axis,) = draw_bars([PANEL]).axes
    hatches = {bars[0].get_hatch() for bars in axis.containers if hasattr(bars, "patches")}
    assert len(hatches) == 2


def test_names_are_written_once_in_a_row_of_panels():
    first, second = draw_bars([PANEL, PANEL]).axes
    assert first.yaxis.get_tick_params()["labelleft"]
    assert not second.yaxis.get_tick_params()["labelleft"]


def test_bars_stand_beside_their_names_where_the_last_has_none():
    names = ["one", "two", "three"]
    panels = [BarPanel(names, [Bars("x", values)], "x") for values in ([1, 2, 3], [1, 2, None])]
    left, right = draw_bars(panels).axes
    assert left.get_ylim() == right.get_ylim() == (2.5, -0.5)
