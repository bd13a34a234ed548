"""The numbers of runs as one table, for other programs."""

from __future__ import annotations

import json
from pathlib import Path

from bennafusi import files
from bennafusi.files import RunError
from bennafusi.runs.load import Problem, find, load, twins


def export_csv(root: Path, path: Path) -> tuple[int, list[Problem]]:
    """Write the metrics of all runs as one table; lists and objects become JSON in their cell.

    Returns:
        The number of lines below the header, and what is wrong with runs that are not in it.
    """
    names: dict[str, int] = {}
    lines: list[tuple[Path, int, str]] = []  # the run, how many columns there were, and the text
    problems, known = [], []
    for folder in find(root):
        try:
            run = load(folder)
            known.append((folder, run.spec, run.status))
        except RunError as error:
            problems.append(Problem(folder.path, str(error)))
            continue
        which = (run.spec.experiment, run.spec.variant, run.spec.seed)
        for record in run.records:
            for name in record:
                names.setdefault(name, len(names))
            cells = (_cell(record.get(name)) for name in names)
            lines.append((folder.path, len(names), files.csv_line([*which, *cells])))
    same = twins(known)
    copies = {problem.folder for problem in same}
    header = files.csv_line(["experiment", "variant", "seed", *names])
    kept = [(width, text) for run, width, text in lines if run not in copies]
    rest = (f"{text}{',' * (len(names) - width)}\n" for width, text in kept)
    files.replace(path, f"{header}\n{''.join(rest)}".encode())
    return len(kept), problems + same


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict | bool) else value
