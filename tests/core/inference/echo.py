"""A pretend worker, run as a process: speaks as the real one does, and misbehaves when asked to."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np


def main() -> None:
    held = []
    for line in sys.stdin.buffer:
        request = json.loads(line)
        asked = request["asked"]
        if asked.get("hang"):
            time.sleep(600)
        if asked.get("leave"):
            return
        if asked.get("crash"):
            os.kill(os.getpid(), signal.SIGSEGV)
        if asked.get("exit"):
            os._exit(asked["exit"])
        if asked.get("eat"):
            held.append(np.ones(asked["eat"], np.uint8))
            time.sleep(600)
        if asked.get("garble"):
            sys.stdout.buffer.write(b"not JSON\n")
            sys.stdout.buffer.flush()
            continue
        said = {"id": request["id"] + asked.get("shift", 0)}
        if asked.get("refuse"):
            said |= {"arrays": []}
            said["error"] = {
                "code": "CLASSES", "what": "two", "remedy": "ten", "where": "", "exit_code": 2,
            }  # fmt: skip
            sys.stdout.buffer.write(json.dumps(said).encode() + b"\n")
        else:
            array = np.full(asked.get("n", 3), asked.get("value", 0), np.int64)
            said |= {"found": {"asked": asked, "pid": os.getpid()}}
            said |= {"arrays": [["values", "int64", [len(array)]]]}
            time.sleep(asked.get("wait", 0))
            while "until" in asked and not Path(asked["until"]).exists():
                time.sleep(0.02)
            sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + array.tobytes())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
