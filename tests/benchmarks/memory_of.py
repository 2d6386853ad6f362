"""What a command needs: ``python -m tests.benchmarks.memory_of -- python -m core audit FILE``.

Prints, as JSON, its seconds by the clock and of the processor, and the largest anonymous memory of
its processes together and of each alone: RssAnon of /proc, which leaves out files that are mapped.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import psutil

EVERY_S = 0.1
MIB = 2**20


def main() -> int:
    """Run the command behind ``--``, and print what it took."""
    command = sys.argv[sys.argv.index("--") + 1 :]
    start = time.monotonic()
    process = psutil.Popen(command, stdout=subprocess.DEVNULL)
    together, alone = 0, dict[int, int]()
    while process.poll() is None:
        now = {p.pid: _anonymous(p.pid) for p in _tree(process)}
        together = max(together, sum(now.values()))
        for pid, n_bytes in now.items():
            alone[pid] = max(alone.get(pid, 0), n_bytes)
        time.sleep(EVERY_S)
    seconds = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                "seconds": round(seconds, 1),
                "cpu": round(used.ru_utime + used.ru_stime, 1),
                "MiB": round(together / MIB),
                "MiB_of_each": [round(n_bytes / MIB) for n_bytes in alone.values()],
            }
        )
    )
    return int(process.returncode)


def _tree(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _anonymous(pid: int) -> int:
    """Return the anonymous resident memory of a process in bytes; 0 where it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(lines[0].split()[1]) * 1024 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
