"""The program `g++ WORD…`: a library of Inductor's is made once, all else is g++'s own.

Two seconds of a core go into reading torch's headers for a kernel of one line. From the second
library with the same options on they are read from a precompiled header, which takes six seconds
to make and a quarter of a second to read.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

REAL, FOLDER = "<real>", Path("<folder>")
# What Inductor's sources begin with, and what all include later; read once more, it adds nothing.
OF_TORCH = b"#include <torch/"
LATER = b"#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n#include <sstream>\n"


def names_in(words):
    """The one source and the library that the words ask for; None: they ask for something else."""
    sources = [word for word in words if word.endswith(".cpp")]
    if len(sources) != 1 or "-shared" not in words or words.count("-o") != 1:
        return None
    return sources[0], words[words.index("-o") + 1]


def key_of(words, text):
    """What decides a library that Inductor makes from one source.

    The source and the library are named by the words' order alone. Headers are torch's and the
    system's, which no test changes.
    """
    return hashlib.sha256("\0".join(words).encode() + b"\0" + text).hexdigest()


def options_for(words, text):
    """Further words for g++: the precompiled header of these options, where others used them."""
    lines = text.lstrip().splitlines(keepends=True)
    prefix = b"".join(takewhile(lambda line: line.startswith(OF_TORCH), lines))
    if not prefix:
        return []
    # Where libraries are linked from decides nothing that a header has.
    options = [word for word in words if word != "-shared" and not word.startswith(("-l", "-L"))]
    header = FOLDER / f"headers-{key_of(options, prefix + LATER)}" / "prefix.h"
    compiled = header.with_name("prefix.h.gch")
    try:
        header.parent.mkdir()
    except FileExistsError:
        pass
    else:
        header.write_bytes(prefix + LATER)
        return []  # nobody else may ever ask for these
    with (header.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if header.exists() and not compiled.exists():
            new = compiled.with_suffix(".new")
            made = subprocess.run([REAL, "-x", "c++-header", str(header), *options, "-o", str(new)])
            if made.returncode == 0:
                new.replace(compiled)
            else:
                header.unlink()  # with these options it cannot be made
    return ["-include", str(header)] if header.exists() else []


def main():
    words = sys.argv[1:]
    names = names_in(words)
    if names is None:
        os.execv(REAL, [REAL, *words])
    try:
        text = Path(names[0]).read_bytes()
    except OSError:
        text = b'#include "'
    if b'#include "' in text:  # of a file beside it
        os.execv(REAL, [REAL, *words])
    stated = [word for word in words if word not in names and word != "-o"]
    kept, output = FOLDER / key_of(stated, text), Path(names[1])
    new = kept.with_name(f"{kept.name}-{os.getpid()}")
    if not kept.exists():
        done = subprocess.run([REAL, *options_for(stated, text), *words])
        if done.returncode != 0:
            return done.returncode
        if output.exists():
            new.write_bytes(output.read_bytes())
            new.replace(kept)
        return 0
    output.unlink(missing_ok=True)
    output.write_bytes(kept.read_bytes())
    output.chmod(0o755)
    return 0


sys.exit(main())
