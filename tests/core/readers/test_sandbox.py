"""The walls around reading: limits of time and memory, a killed child, no traces, no network."""

import contextlib
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import zipfile
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from core.errors import LostWorker, Refused
from core.predictions import ScoreKind
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import read_source
from core.readers.predictions.result import NeedsChoice, ReadOptions
from core.readers.sandbox import child_process, limits, wire
from core.readers.sandbox import read as sandbox
from core.readers.sandbox.readers import PREDICTIONS
from tests import hostile_cases as made
from tests import plain_user

linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")
z, y = made.LOGITS, made.LABELS


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that must be empty afterwards; and a folder to work in."""
    scratch, work = tmp_path / "scratch", tmp_path / "work"
    scratch.mkdir()
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.chdir(work)
    return scratch


def write(data: bytes, name: str = "file.npz") -> Path:
    path = Path(name).resolve()
    path.write_bytes(data)
    return path


def slow_to_read() -> Path:
    """A table that takes far longer to read than the test needs to end its reader."""
    return write(b"a,b,label\n" + 5_000_000 * b"0.5,0.5,1\n", "slow.csv")


def leftovers(scratch: Path) -> list[str]:
    return [p.name for p in scratch.rglob("*")]


def test_arrays_names_and_notices_cross_over_unchanged(scratch: Path) -> None:
    ids = write(
        made.table(("id", *made.NAMES), [[i, *r] for i, r in zip(made.IDS, z, strict=True)])
    )
    labels = write(made.table(("id", "label"), zip(made.IDS, y, strict=True)), "labels")
    found = sandbox.read(ids, name="scores.csv", labels=labels, labels_name="labels.csv")
    got = found.splits["test"]
    np.testing.assert_array_equal(got.scores, z)
    np.testing.assert_array_equal(got.labels, y)
    assert (got.class_names, got.row_ids) == (made.NAMES, tuple(made.IDS))
    assert (
        found.digest == blake2b(ids.read_bytes() + labels.read_bytes(), digest_size=16).hexdigest()
    )
    assert found.inspection.header == ("id", *made.NAMES)
    assert found.recipe.scores is ScoreKind.LOGITS
    assert leftovers(scratch) == []


@pytest.mark.slow
def test_the_test_part_is_chosen_before_the_others(scratch: Path) -> None:
    parts = {"train": (z, y), "val": (z[9:], y[9:]), "test": (z[:9], y[:9])}
    found = sandbox.read(write(made.pickled(parts), "parts.pkl"))
    assert (list(found.splits), found.chosen_split) == (["train", "val", "test"], "test")
    assert "test is audited" in found.notices[-1].text
    assert found.inspection.layout.startswith("9 rows")


def test_a_recipe_gives_the_same_again(scratch: Path) -> None:
    path = write(made.npz(scores=made.PROBABILITIES, labels=y))
    first = sandbox.read(path)
    again = sandbox.read(path, options=first.recipe)
    assert {n.code for n in first.notices} == {"SCORES_GUESSED"}
    assert again.notices == ()
    assert again.splits["test"].digest == first.splits["test"].digest
    assert again.inspection.fingerprint == first.inspection.fingerprint


def test_a_refusal_crosses_over_with_its_inspection(scratch: Path) -> None:
    with pytest.raises(NeedsChoice) as caught:
        sandbox.read(write(made.npz(scores=made.SIGMOID, labels=y)))
    assert caught.value.code == "PROB_SUM"
    assert caught.value.inspection.scores_keys == ("scores",)
    assert leftovers(scratch) == []


@pytest.mark.parametrize(
    "evil", [made.Evil(), pytest.param(made.ByPrefix(), marks=pytest.mark.slow)]
)
def test_an_evil_pickle_leaves_nothing_behind(scratch: Path, evil: object) -> None:
    path = write(made.pickled(evil), "evil.pkl")
    with pytest.raises(Refused) as caught:
        sandbox.read(path)
    assert caught.value.code == "PICKLE_GLOBAL"
    assert [p.name for p in path.parent.iterdir()] == ["evil.pkl"]
    assert not (child_process.ROOT / "pwned").exists()
    assert leftovers(scratch) == []


def test_the_clock_ends_a_slow_reader(scratch: Path) -> None:
    with pytest.raises(Refused) as caught:
        sandbox.read(slow_to_read(), timeout_s=0.01)
    assert caught.value.code == "LIMIT_TIME"
    assert leftovers(scratch) == []


@linux
@pytest.mark.slow
def test_memory_beyond_the_limit_is_refused(scratch: Path) -> None:
    path = write(made.npz(logits=np.zeros((2_000_000, 10)), labels=np.zeros(2_000_000, int)))
    with pytest.raises(Refused) as caught:
        sandbox.read(path, memory_bytes=400 * 2**20)
    assert caught.value.code == "LIMIT_MEMORY"
    assert leftovers(scratch) == []


def test_cancelling_ends_the_reader(scratch: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Refused) as caught:
        sandbox.read(slow_to_read(), cancel=cancel)
    assert caught.value.code == "CANCELLED"
    assert leftovers(scratch) == []


def children() -> set[int]:
    found = set()
    for tasks in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that ended meanwhile
            found |= {int(pid) for pid in tasks.read_text().split()}
    return found


@linux
@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (signal.SIGKILL, LostWorker, "signal 9"),
        (signal.SIGABRT, Refused, "gave the file up"),  # a decoder in C++ that gives up
    ],
)
def test_a_killed_reader_is_reported_as_lost(scratch: Path, number, kind, words) -> None:
    path = slow_to_read()
    before = children()
    over = threading.Event()

    def kill() -> None:
        while not (new := children() - before) and not over.wait(0.001):
            pass
        for child in new:
            os.kill(child, number)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(kind) as caught:
            sandbox.read(path)
    finally:
        over.set()
        killer.join()
    assert words in caught.value.what
    assert leftovers(scratch) == []
    assert children() == before


@linux
@pytest.mark.slow
def test_the_parent_grows_by_the_arrays_alone(scratch: Path) -> None:
    path = write(made.npy(np.ones((1_000_000, 8))), "scores.npy")
    labels = write(made.npy(np.zeros(1_000_000, np.int8)), "labels.npy")

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    options = ReadOptions(scores=ScoreKind.LOGITS, in_order=True)
    got = sandbox.read(path, labels=labels, options=options).splits["test"]
    arrays = got.scores.nbytes + got.labels.nbytes
    assert resident() - before < arrays + 64 * 2**20


WALLS = """
import os, socket, sys
from core.readers.sandbox.limits import drop_privileges, leave_network, limit_resources
"x".encode("idna")  # a codec that connecting needs, imported while it can be
nobody = os.geteuid() == 0
alone = leave_network(nobody=nobody)
limit_resources(2**30, 60)
drop_privileges(nobody=nobody)
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5)
    reached = "reached"
except OSError:
    reached = "unreachable"
try:
    bytearray(2**31)
    memory = "granted"
except MemoryError:
    memory = "refused"
print(alone, reached, memory, os.geteuid())
"""


# Root that is less: without capabilities, or in a namespace that holds no other user.
LESS_ROOT = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
user, group, python = os.getuid(), os.getgid(), sys.executable
if sys.argv[1] == "capabilities":
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)  # out of what the next program may have
else:
    if libc.unshare(0x10000000):
        sys.exit(77)
    maps = {"setgroups": "deny", "uid_map": f"0 {user} 1", "gid_map": f"0 {group} 1"}
    for name, text in maps.items():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
os.execv(python, [python, "-m", "core", "audit", sys.argv[2], "--json", "-"])
"""


@linux
@pytest.mark.parametrize(
    "less",
    [
        "capabilities",
        pytest.param("namespace", marks=[pytest.mark.nightly] * (os.geteuid() == 0)),
    ],
)
def test_root_that_may_not_become_nobody_reads_all_the_same(scratch: Path, less: str) -> None:
    if less == "capabilities" and os.geteuid() != 0:
        pytest.skip("this user has no capabilities to lose")
    path = write(made.npz(logits=z, labels=y))
    command = [sys.executable, "-c", LESS_ROOT, less, str(path)]
    done = subprocess.run(
        command, cwd=child_process.ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 77:
        pytest.skip("the kernel allows no namespace of users")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n"] == len(y)


@linux
@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
def test_where_no_process_can_be_started_it_is_said(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def start(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(LostWorker, match="could not be started") as lost:
        sandbox.read(write(made.npz(logits=z, labels=y)))
    assert "ulimit" in lost.value.remedy
    assert not leftovers(scratch)


@linux
def test_the_walls_hold_inside_the_child() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-c", WALLS, port],
            cwd=child_process.ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
    _, reached, memory, user = done.stdout.split()
    assert (reached, memory) == ("unreachable", "refused")
    assert int(user) != 0


# Flags that no kernel knows: as where it grants no namespaces. Calls by hand: getpid by its number
# for pointers of 32 bits, and one that no table has, for the filter to let through.
NO_NAMESPACES = """
import ctypes, os, socket, sys, threading
from core.readers.sandbox import limits
libc = ctypes.CDLL(None, use_errno=True)
limits.CLONE_NEWNET = limits.CLONE_NEWUSER = -1
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()  # can be reached until then
assert not limits.leave_network(nobody=False)
def attempt():
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
        try:
            socket.socket(family)
        except PermissionError:
            print("refused")
    for call in (0x40000000 + 39, 1_000):
        if libc.syscall(call, 1, ctypes.create_string_buffer(256)) == -1:
            print(os.strerror(ctypes.get_errno()))
attempt()
thread = threading.Thread(target=attempt)
thread.start()
thread.join()
"""


@linux
def test_without_namespaces_nothing_makes_a_socket() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-c", NO_NAMESPACES, port],
            cwd=child_process.ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
    once = ["refused"] * 4 + [os.strerror(errno.EPERM), os.strerror(errno.ENOSYS)]
    assert done.stdout.splitlines() == once * 2


# A call that is tried with arguments which no kernel takes: its error tells who refused it.
CALLS = """
import ctypes, errno, json, os, subprocess, sys, threading
from core.readers.sandbox import limits
libc = ctypes.CDLL(None, use_errno=True)
_, clone, refused = limits.CALLS[os.uname().machine]
none = [ctypes.c_long(-1)] * 6
mixed = [ctypes.c_long(0x20000 | 0x200)] + none[1:]  # flags of clone that exclude each other
def errors():
    found = {}
    for call in (*refused, limits.CLONE3):
        libc.syscall(call, *none)
        found[call] = ctypes.get_errno()
    libc.syscall(clone, *mixed)
    return {**found, "clone": ctypes.get_errno()}
before = errors()
limits.leave_network(nobody=False)
found = []
thread = threading.Thread(target=lambda: found.append(errors()))  # threads can be started
thread.start()
thread.join()
subprocess.run([sys.executable, "-c", ""], check=True)  # and processes
print(json.dumps([before, errors(), *found]))
"""


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine not in limits.CALLS,
                    reason="there is a filter on Linux, on x86-64 and ARM")  # fmt: skip
def test_a_reader_reaches_no_other_process_and_no_part_of_the_kernel_that_it_does_not_need() -> (
    None
):
    done = subprocess.run(
        [sys.executable, "-c", CALLS],
        cwd=child_process.ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, after, in_a_thread = json.loads(done.stdout)
    assert after == in_a_thread
    assert after.pop(str(limits.CLONE3)) == errno.ENOSYS
    assert set(after.values()) == {errno.EPERM}
    if limits.may_become_nobody():  # the kernel itself refuses others some of them
        assert errno.EPERM not in before.values()


NAMES = """
    socket ptrace process_vm_readv process_vm_writev kcmp unshare setns mount umount2 pivot_root
    chroot name_to_handle_at open_by_handle_at add_key request_key keyctl bpf userfaultfd
    perf_event_open io_uring_setup open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open
    pidfd_getfd mount_setattr
"""


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_the_numbers_of_refused_calls_are_those_of_the_kernels_headers(
    machine: str, header: str
) -> None:
    path = Path("/usr/include", header)
    if not path.exists():
        pytest.skip("the kernel's headers are not here")
    numbers = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text()))
    _, clone, refused = limits.CALLS[machine]
    known = {name: int(numbers[name]) for name in NAMES.split() if name in numbers}
    assert {name for name, number in known.items() if number not in refused} == set()
    assert (clone, limits.CLONE3) == (int(numbers["clone"]), int(numbers["clone3"]))


def test_a_plain_users_reader_is_outside_the_network_with_all_its_threads(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(scratch))  # what is killed tidies nothing up
    with plain_user.start("-m", "core", "audit", str(slow_to_read()), "--json", "-") as process:
        try:
            reader = plain_user.limited_child(process)
            found = plain_user.networks(reader)
            status = Path(f"/proc/{reader}/status").read_text()
        finally:
            process.kill()
    assert len(found) == 1
    assert "Seccomp:\t2\n" in status  # a filter of system calls
    assert plain_user.networks("self").isdisjoint(found)


def arrow_files() -> dict[str, bytes]:
    """Columns whose reading needs Arrow's functions: a gap, categories, points in time."""
    scores = {"a": [0.25, 0.5], "b": [0.75, 0.5]}
    words = pa.array(["a", "b"]).dictionary_encode()
    days = pa.array([0, 86_400], pa.timestamp("s"))
    return {
        "gap.parquet": made.parquet({**scores, "label": pa.array([None, 1])}),
        "words.parquet": made.parquet({**scores, "label": words}),
        "days.parquet": made.parquet({"id": days, **scores, "label": [0, 1]}),
    }


@pytest.mark.parametrize(
    "name",
    [
        "gap.parquet",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("words.parquet", "days.parquet")),
    ],
)
def test_columns_that_need_arrows_functions_are_read_behind_the_walls(
    scratch: Path, name: str
) -> None:
    path = write(arrow_files()[name], name)
    if name == "gap.parquet":
        with pytest.raises(Refused) as caught:
            sandbox.read(path)
        assert (caught.value.code, caught.value.location) == ("LABEL_NOT_INTEGER", "row 0")
        return
    got = sandbox.read(path).splits["test"]
    assert got.labels.tolist() == [0, 1]
    assert [i[:10] for i in got.row_ids] == (
        ["1970-01-01", "1970-01-02"] if name == "days.parquet" else []
    )


GAMMA_COLUMNS = {
    "epoch": [0, 0], "bin": [0, 1], "lower": [0.2, 0.5], "upper": [0.5, 0.9], "count": [9, 0],
    "confidence": [0.4, None], "accuracy": [0.5, None], "gamma": [0.9, 1.0],
}  # fmt: skip
GAMMAS = b"epoch,bin,lower,upper,count,confidence,accuracy,gamma\n0,0,0.2,0.5,9,0.4,0.5,0.9\n"
LATE = """
import os, sys
from pathlib import Path
from core.readers.sandbox import child
reader = sys.argv[1]
child.import_early(reader)
before = set(sys.modules)
for name in sys.argv[2:]:
    file = {"name": name, "input": os.open(name, os.O_RDONLY)}
    job = {"options": {}, "files": {"file": file}, "reader": reader}
    child.answer(job, Path())
print(*sorted(set(sys.modules) - before))
"""


def test_no_module_is_imported_once_privileges_are_dropped(scratch: Path) -> None:
    """The interpreter's home may be out of reach by then."""
    predictions = {
        **arrow_files(),
        "a.npz": made.npz(logits=z, labels=np.array(made.NAMES)[y]),
        "a.csv": made.CSV,
        "wide.csv": made.CSV.decode().encode("utf-16"),
        "latin.csv": made.CSV.replace(b"c0", b"\xe9"),
        "a.json": b'{"logits":[[1,2],[2,1]],"labels":[0,1]}',
        "a.pkl": made.pickled((z, y)),
        "a.zip": made.archive({"a.csv": made.CSV}, zipfile.ZIP_DEFLATED),
        "bad.npz": made.npz(logits=z),
    }
    history = {
        "gammas.csv": GAMMAS,
        "gammas.json": json.dumps(GAMMA_COLUMNS).encode(),
        "gammas.parquet": made.parquet(GAMMA_COLUMNS),
    }
    weights = {
        "net.safetensors": made.safetensors(
            {"fc.weight": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)
        ),
        "net.pt": saved_weights(),
    }
    readers = {"predictions": predictions, "history": history, "weights": weights}
    for reader, files in readers.items():
        for name, data in files.items():
            write(data, name)
        done = subprocess.run(
            [sys.executable, "-c", LATE, reader, *files],
            env={**os.environ, "PYTHONPATH": str(child_process.ROOT)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.split() == [], reader


def saved_weights() -> bytes:
    """What torch.save writes of a state dict."""
    import torch

    torch.save({"fc.weight": torch.ones(2)}, out := io.BytesIO())
    return out.getvalue()


@pytest.mark.parametrize("form", ["file", "labels", "shards"])
def test_a_file_that_is_written_to_while_it_is_read_is_refused(scratch, monkeypatch, form) -> None:
    folder = Path("shards").resolve()
    folder.mkdir()
    np.save(folder / "logits-0.npy", z)
    np.save(folder / "labels-0.npy", y)
    scores, labels = folder / "logits-0.npy", folder / "labels-0.npy"
    written, path = {
        "file": (scores, scores),
        "labels": (labels, scores),
        "shards": (labels, folder),
    }[form]
    run = child_process.run

    def meanwhile(*given: object) -> None:
        run(*given)
        with written.open("r+b") as file:  # of the same size
            file.seek(-1, os.SEEK_END)
            file.write(b"\0")

    options = ReadOptions(scores=ScoreKind.LOGITS, in_order=True)
    other = None if path == folder else labels
    sandbox.read(path, labels=other, options=options)
    monkeypatch.setattr(sandbox, "run", meanwhile)
    with pytest.raises(Refused) as caught:
        sandbox.read(path, labels=other, options=options)
    assert (caught.value.code, caught.value.file) == ("CHANGED", written.name)
    assert leftovers(scratch) == []


@linux
@pytest.mark.parametrize(
    "name", ["test.scores.npy", pytest.param("result.json.partial", marks=pytest.mark.slow)]
)
def test_a_full_disk_is_named_as_such(scratch: Path, name: str) -> None:
    """Where the child writes an array or its answer lies a device that is always full."""
    with (
        child_process.private_folder() as folder,
        write(made.npz(logits=z, labels=y)).open("rb") as file,
    ):
        (folder / name).symlink_to("/dev/full")
        item = child_process.OpenFile(file, "a.npz")  # type: ignore[arg-type]
        options = ReadOptions()
        job = child_process.job_of(PREDICTIONS, {"file": item}, options, folder, 2**31, 60)
        with pytest.raises(Refused) as caught:
            child_process.run(job, [item], 60, None)
    assert (caught.value.code, "no room" in caught.value.what) == ("QUOTA", True)


@linux
def test_a_temporary_folder_that_cannot_be_written_is_named(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(made.npz(logits=z, labels=y))
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    with pytest.raises(Refused) as caught:
        sandbox.read(path)
    assert caught.value.code == "QUOTA"


@linux
@pytest.mark.parametrize("name", ["test.scores.npy", "result.json"])
@pytest.mark.parametrize("how", ["link", "hard link", "pipe"])
def test_what_the_child_left_is_opened_only_where_it_is_a_plain_file(
    scratch: Path, name: str, how: str
) -> None:
    """Else a child that was taken over could have the app read another file, or wait forever."""
    source = FileBytes.of_bytes("a.npz", made.npz(logits=z, labels=y))
    wire.write_predictions(wire.Exchange(scratch), read_source(source, None, ReadOptions()))
    assert wire.load_predictions(wire.Exchange(scratch)).chosen_split == "test"
    secret = (scratch / name).rename(write(b"", "secret"))
    if how == "pipe":
        os.mkfifo(scratch / name)
    else:
        (scratch / name).symlink_to(secret) if how == "link" else os.link(secret, scratch / name)
    with pytest.raises(LostWorker):
        wire.load_predictions(wire.Exchange(scratch))
    for left in scratch.iterdir():
        left.unlink()


COLUMN = {"name": "a", "role": "scores", "shape": [1], "dtype": "float64"}


@pytest.mark.parametrize(
    "change",
    [
        {"inspection": None},
        {"inspection": {"layout": 3}},
        {"inspection": {"kind": "odds"}},
        {"inspection": {"header": ["a", 1]}},
        {"inspection": {"columns": [COLUMN | {"name": 3}]}},
        {"inspection": {"columns": [COLUMN | {"shape": ["1"]}]}},
        {"inspection": {"rows": [["a", ["b"]]]}},
        {"inspection": {"readings": [{"kind": "logits", "possible": "yes"}]}},
        {"inspection": {"more": "b"}},
        {"recipe": {"scores": "odds"}},
        {"recipe": {"classes": "a,a"}},
        {"recipe": {"in_order": 1}},
        {"recipe": {"more": "a"}},
        {"recipe": []},
        {"notices": [{"code": 1, "text": "t"}]},
        {"refused": None},
    ],
    ids=str,
)
def test_json_that_no_reader_writes_is_refused(scratch: Path, change: dict[str, object]) -> None:
    """Nothing but what was declared comes in, and no other error gets out."""
    source = FileBytes.of_bytes("a.npz", made.npz(logits=z, labels=y))
    wire.write_predictions(wire.Exchange(scratch), read_source(source, None, ReadOptions()))
    data = json.loads((scratch / wire.RESULT).read_text())
    for key, value in change.items():
        data[key] = data[key] | value if key == "inspection" and value else value
    (scratch / wire.RESULT).write_text(json.dumps(data))
    with pytest.raises(LostWorker):
        wire.load_predictions(wire.Exchange(scratch))
    for left in scratch.iterdir():
        left.unlink()


@pytest.mark.parametrize("text", [100_000 * "[", "[]", '{"a": 1, "a": 2}', "{"])
def test_text_that_is_no_json_of_a_reader_is_refused(scratch: Path, text: str) -> None:
    (scratch / wire.RESULT).write_text(text)
    with pytest.raises(LostWorker):
        wire.load_predictions(wire.Exchange(scratch))
    (scratch / wire.RESULT).unlink()


@linux
def test_the_trace_of_a_failure_is_read_from_a_plain_file_only(scratch: Path) -> None:
    write(b'  File "secret", line 1\n', "secret")
    with child_process.private_folder() as folder:
        (folder / child_process.ERRORS).symlink_to(Path("secret").resolve())
        assert child_process.last_line(folder) == "no trace"
        (folder / child_process.ERRORS).unlink()
        (folder / child_process.ERRORS).write_text('x\n  File "a.py", line 2\nValueError\n')
        assert child_process.last_line(folder) == 'File "a.py", line 2'
