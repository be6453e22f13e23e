"""A page as one HTML file: figures, tables, and every number for download."""

import base64
import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.results.page import Page, Result
from fairseq_xling.results.report import Download, Section, write_report


def write_page(path: Path, result: Result, page: Page) -> None:
    """Write ``path`` atomically, self-contained."""
    made = [("made by", result.command or "not recorded"), ("date", result.date)]
    made += [("machine", result.machine), ("results", str(result.path))]
    made += [("its steps took", result.took)] if result.took else []
    made += list(result.versions.items())
    inputs = [[role, one["path"], one["sha256"][:16]] for role, one in result.inputs.items()]
    sections = [*page.sections, numbers_section(result, page)]
    if settings := _settings(result.record.get("config")):
        sections.append(Section("Settings", header=["option", "value"], rows=settings))
    sections.append(Section("Provenance", header=["what", "value"], rows=made))
    if inputs:
        header = ["input", "file", "SHA-256 (its beginning)"]
        sections.append(Section("Inputs", header=header, rows=inputs))
    if commands := result.record.get("commands"):
        text = "Also in commands.sh in the same folder."
        sections.append(Section("Exact commands", text=text, code="\n\n".join(commands)))
    write_report(path, page.title, page.lead, sections)


def _settings(config: Any) -> list[tuple[str, str]]:
    """Every option that has a value."""
    if not isinstance(config, dict):
        return []
    return [(name, str(value)) for name, value in config.items() if value not in ("", (), [])]


def numbers_section(result: Result, page: Page) -> Section:
    """Links to every table as CSV and to the whole record as JSON."""
    files = [
        download(f"{result.name}.{name}.csv", "text/csv", csv_text(header, rows))
        for name, (header, rows) in page.tables.items()
    ]
    record = json.dumps(result.record, indent=2, sort_keys=True, ensure_ascii=False)
    files.append(download(f"{result.name}.json", "application/json", record + "\n"))
    text = "Unrounded; the files are inside this page."
    return Section("Every number", text=text, downloads=files)


def download(name: str, kind: str, text: str) -> Download:
    """A link that contains its file.

    >>> download("a.csv", "text/csv", "x").link
    'data:text/csv;charset=utf-8;base64,eA=='
    """
    data = base64.b64encode(text.encode("utf-8")).decode("ascii")
    return Download(name, f"data:{kind};charset=utf-8;base64,{data}")


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as CSV.

    >>> csv_text(["a", "b"], [[1, None]])
    'a,b\\n1,\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
