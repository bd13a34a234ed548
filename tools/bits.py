"""Do two folders of runs hold the same records, byte for byte?

For changes that must not move a number:

    bennafusi run online-cartpole two-task --scale smoke --out before     # at the old commit
    bennafusi run online-cartpole two-task --scale smoke --out after      # at the new one
    python tools/bits.py before after

Compared is each ``metrics.jsonl``; the first line that differs is shown. NPROC must be the same in
both (a run's process sets it to 1), and so must the machine: XLA compiles for its processor.
A change that adds a kind of record leaves it out: ``--without games``.
"""

import argparse
import json
import sys
from itertools import zip_longest
from pathlib import Path

WIDTH = 160  # of a line that is shown


def runs(root: Path) -> dict[str, Path]:
    """Every file of records below a folder, by its place there."""
    return {str(path.relative_to(root)): path for path in sorted(root.rglob("metrics.jsonl"))}


def lines_of(path: Path, without: str | None) -> list[bytes]:
    """All lines of a file but the records of one kind."""
    lines = path.read_bytes().split(b"\n")
    if without is None:
        return lines
    return [line for line in lines if not line or json.loads(line).get("kind") != without]


def difference(one: Path, other: Path, without: str | None = None) -> str | None:
    """Where two files part, in a sentence; None if they do not."""
    lines = zip_longest(*(lines_of(path, without) for path in (one, other)))
    for number, (a, b) in enumerate(lines, 1):
        if a != b:
            shown = (str(line)[:WIDTH] if line is not None else "no such line" for line in (a, b))
            return f"line {number}:\n    " + "\n    ".join(shown)
    return None


def main(words: list[str] | None = None) -> int:
    """The command; 1 if anything differs, is missing, or nothing was there to compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--without", metavar="KIND", help="leave records of this kind out")
    given = parser.parse_args(words)
    before, after = runs(given.before), runs(given.after)
    alike, told = 0, []
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            told.append(f"{name}: only in {given.before if name in before else given.after}")
        elif found := difference(before[name], after[name], given.without):
            told.append(f"{name}: {found}")
        else:
            alike += 1
    print(*told, f"{alike} of {alike + len(told)} files of records are the same", sep="\n")
    return 0 if alike and not told else 1


if __name__ == "__main__":
    sys.exit(main())
