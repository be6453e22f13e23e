"""One tiny record of each kind of result, as the verbs write them: those of the golden files."""

import json
from typing import Any

from tests.golden.pages import RECORDS as _FOLDER

RECORDS: dict[str, Any] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in _FOLDER.glob("*.json")
}
ORIGIN = RECORDS["demo"]["provenance"]
