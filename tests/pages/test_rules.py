"""Rules that hold for every file of the pages: caching, keys, threads and dated calls."""

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

PAGES = Path(__file__).parents[2] / "pages"
FILES = sorted(PAGES.rglob("*.py"))
CACHES = {"cache_data", "cache_resource"}
KEYED = {
    "button",
    "download_button",
    "expander",
    "file_uploader",
    "plotly_chart",
    "popover",
    "radio",
    "segmented_control",
    "selectbox",
    "slider",
    "toggle",
}
OPENINGS = {"open_library", "open_jobs", "JobStore"}
DATED = ("use_container_width", "components.v1", "threading.Thread", "experimental_")


def calls(tree: ast.AST, names: set[str]) -> list[ast.Call]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [c for c in found if isinstance(c.func, ast.Attribute) and c.func.attr in names]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_cache_is_bounded_or_belongs_to_one_session():
    for path in FILES:
        for call in calls(parsed(path), CACHES):
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            own = given.get("scope") == "'session'"
            bounded = "max_entries" in given and "on_release" not in given  # that ends a session's
            assert own or bounded, f"{path}: {ast.unparse(call)}"


def test_no_cached_function_hides_an_argument_from_its_key():
    for path in FILES:
        nodes = list(ast.walk(parsed(path)))
        wrapped = {
            argument.id
            for call in nodes
            if isinstance(call, ast.Call) and calls(call.func, CACHES)
            for argument in call.args
            if isinstance(argument, ast.Name)
        }
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                decorated = any(calls(d, CACHES) for d in node.decorator_list)
                if decorated or node.name in wrapped:
                    hidden = [a.arg for a in node.args.args if a.arg.startswith("_")]
                    assert not hidden, f"{path}: {node.name} hides {hidden}"


def test_every_widget_and_figure_has_a_key():
    for path in FILES:
        for call in calls(parsed(path), KEYED):
            if ast.unparse(call.func).startswith("st."):
                keys = {keyword.arg for keyword in call.keywords}
                assert "key" in keys, f"{path}: {ast.unparse(call)}"


def test_no_dated_call_and_no_thread_of_our_own():
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert not [word for word in DATED if word in text], path


def test_the_rules_see_what_they_forbid():
    bad = ast.parse("@st.cache_data()\ndef f(_secret): ...\nst.button('x')")
    assert calls(bad, CACHES)[0].keywords == []
    assert calls(bad, KEYED)[0].keywords == []


def imported_by(*paths: Path) -> set[str]:
    """Return the modules that a fresh process has once it ran the imports of these files."""
    statements = [node for path in paths for node in parsed(path).body]
    imports = [ast.unparse(n) for n in statements if isinstance(n, ast.Import | ast.ImportFrom)]
    assert imports
    code = "\n".join([*imports, "import sys", "print(*sys.modules)"])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=PAGES.parent, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_no_page_imports_torch():
    assert "torch" not in imported_by(*PAGES.glob("*.py"))


def test_the_first_page_waits_for_nothing_that_only_another_one_needs():
    modules = imported_by(PAGES.parent / "app.py", PAGES / "library.py")
    assert "core.library.index" in modules
    late = ("core.readers.sandbox.read", "core.readers.predictions.interpret", "scipy.", "numba")
    rooms = ("core.screens.reliability.", "core.screens.xray.", "core.studies.")
    assert not [name for name in modules if name.startswith(late + rooms)]


def test_every_choice_has_a_name_of_its_own_in_links():
    """Equal names would let the choice of one page undo that of another."""
    fixed = {path: constants(path) for path in FILES}
    found = defaultdict(set)
    for path in FILES:
        for call in (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)):
            place = {"choice": 0, "segments": 1}.get(ast.unparse(call.func).split(".")[-1])
            if place is not None and len(call.args) > place:
                found[named(call.args[place], path, fixed)].add(path)
    assert {"split", "picture", "temperatures", "heat"} <= set(found)
    shared = {None, "split", "of"}  # mean the same wherever they are
    assert {name for name, modules in found.items() if len(modules) > 1} <= shared


def constants(path: Path) -> dict[str, str]:
    """Return the texts that a module names."""
    found = {}
    for node in parsed(path).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            pairs = zip(*map(parts_of, (targets[0], node.value)), strict=False)
            found |= {ast.unparse(a): b.value for a, b in pairs if isinstance(b, ast.Constant)}
    return found


def parts_of(node: ast.expr | None) -> list[ast.expr | None]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def named(node: ast.expr, path: Path, fixed: dict[Path, dict[str, str]]) -> str | None:
    """Return the name that an argument stands for; None where it is an argument itself."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Attribute):
        room = PAGES / "ui" / path.stem if path.parent == PAGES else path.parent
        return fixed.get(room / f"{ast.unparse(node.value)}.py", {}).get(node.attr)
    return fixed[path].get(ast.unparse(node))


def test_pages_open_library_and_jobs_as_their_visitor():
    """The thread that looks after jobs is nobody's."""
    for path in {*FILES} - {PAGES / "ui/visitor.py", PAGES / "ui/session.py"}:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("core"):
                assert not OPENINGS & {alias.name for alias in node.names}, path
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in {"Library", "LocalJobs"}, path
