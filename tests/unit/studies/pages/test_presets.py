import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.studies.pages.presets import find_presets


def rows_of(name, **kwargs):
    return next(one.rows for one in find_presets(**kwargs) if one.name == name)


def test_studies_and_named_settings_say_which_rows_they_are_of():
    assert rows_of("fairseq-xling ablate trelm-init") == ("T15",)
    assert set(rows_of("fairseq-xling ablate emerging-structure")) == {
        *(f"A{n}" for n in range(1, 11)),
        "A12",
    }
    assert rows_of("fairseq-xling trelm run --preset trelm") == ("P9", "D3", "T14")
    assert "C4" in rows_of("fairseq-xling clcr run --preset paper")
    assert rows_of("fairseq-xling trelm run --preset trelm-id") == ("P9", "D3", "T14")
    paper = "fairseq-xling ablate emerging-structure --preset paper"
    assert rows_of(paper) == ("P8", "D2", "A12")
    assert rows_of("fairseq-xling eval transfer --preset clue-tnews") == ("E6",)
    assert rows_of("fairseq-train --arch separable_transformer_base") == ("P8",)
    assert rows_of("fairseq-train --objectives tlm") == ("P3",)
    assert rows_of("fairseq-train --task bilingual_mlm") == ("D1", "D2", "D9")
    assert rows_of("fairseq-generate --ordering identity") == ("T18",)


def test_a_recipe_names_rows_in_a_comment(tmp_path):
    (tmp_path / "deep").mkdir()
    recipe = tmp_path / "deep" / "a.yaml"
    recipe.write_text("# What it is.\n# Rows: T9, P9\npreset: trelm\n")
    (tmp_path / "none.yaml").write_text("preset: trelm\n")
    assert rows_of(f"{tmp_path.name}/deep/a.yaml", recipes=[tmp_path]) == ("T9", "P9")
    assert rows_of("a.yaml", recipes=[recipe]) == ("T9", "P9")


def test_an_unknown_row_in_a_recipe_is_named_with_its_line(tmp_path):
    recipe = tmp_path / "a.yaml"
    recipe.write_text("# Rows: T9\n# Rows: T99\n")
    with pytest.raises(UserError, match=r"a\.yaml:2: unknown row 'T99'; did you mean 'T9'"):
        find_presets([tmp_path])


def test_missing_recipes_are_named(tmp_path):
    with pytest.raises(UserError, match=r"none: no such file or folder of recipes"):
        find_presets([tmp_path / "none"])


@pytest.mark.parametrize("given", ("a.yaml", "."))
def test_recipes_that_name_no_rows_are_not_passed_over(given, tmp_path):
    (tmp_path / "a.yaml").write_text("preset: trelm\n# rows T9\n")
    with pytest.raises(
        UserError, match=r"names no rows; a recipe has a line like `# Rows: S8, S9`"
    ):
        find_presets([tmp_path / given])
