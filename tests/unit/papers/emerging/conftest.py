import pytest


@pytest.fixture
def text(tmp_path):
    """A folder of English and German text with all that a study may read, a line in each file."""
    folder = tmp_path / "text"
    for name in ("mono", "parallel", "dictionary", "gold"):
        (folder / name).mkdir(parents=True)
    for lang in ("en", "de"):
        for split in ("train", "valid", "test"):
            (folder / f"mono/{split}.{lang}.txt").write_text("a\n")
            (folder / f"parallel/{split}.en-de.{lang}.txt").write_text("a\n")
            (folder / f"gold/tags.{split}.{lang}.tsv").write_text("a\tX\tO\n")
            (folder / f"gold/{split}.{lang}.conllu").write_text("\n")
    (folder / "dictionary/en-de.tsv").write_text("".join(f"e{n}\td{n}\n" for n in range(10)))
    return folder
