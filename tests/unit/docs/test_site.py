"""The site opens from a folder, its search too, without the network."""

import yaml

from tests.unit.docs.conftest import DOCS


def test_search_works_from_a_folder_without_the_network():
    config = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    assert "offline" in config["plugins"]
    # The plug-in adds an address of the network unless a script of this name is given.
    (script,) = config["extra"]["polyfills"]
    assert "iframe-worker" in script and (DOCS / script).is_file()
