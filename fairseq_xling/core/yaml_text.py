"""YAML that is read from outside: every value is text, as on the command line.

YAML 1.1 reads ``1:30`` as 90, ``010`` as 8, ``no`` as false and ``2024-01-02`` as a date. Here what
a value means is decided by the option that it is for; only an empty value, ``~`` or ``null`` is
none.
"""

import re
from typing import Any

import yaml

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import read_text

_NULL = "tag:yaml.org,2002:null"


class _Texts(yaml.SafeLoader):
    """YAML of texts, lists and mappings; a key must not stand twice: the last would win."""

    yaml_implicit_resolvers: dict[str, Any] = {}
    yaml_constructors = {
        tag: made
        for tag, made in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in ("null", "str", "seq", "map")
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As PyYAML's, with an error at the second place of a key."""
        seen: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{shown(key.value)} is given twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Texts.add_implicit_resolver(_NULL, re.compile(r"(~|null|Null|NULL|)$"), ["~", "n", "N", ""])


def read_yaml_texts(path: str) -> Any:
    """The texts, lists and mappings in a YAML file; None if it has no value."""
    text = read_text(path, "yaml")
    try:
        return _Texts(text).get_single_data()
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML ({error})") from None
    except RecursionError:
        raise UserError(f"{path}: not YAML that can be read (too deeply nested)") from None
    except Exception as error:  # of what YAML describes but Python lacks
        raise UserError(f"{path}: not YAML that can be read ({error})") from None
