"""The import: drop a file, see how it was read, choose another reading, audit it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st

from core import defaults
from core.codes import NoticeCode, RefusalCode
from core.errors import AuditError, LostWorker, Notice, Refused, UsageError
from core.library.recipes import forget_recipe, load_recipe, save_recipe
from core.predictions import ScoreKind
from core.readers.formats.shards import shard_files
from core.readers.predictions.options import ID_STEM, ReadOptions
from core.readers.predictions.result import Inspection, NeedsChoice, ReadResult
from core.readers.predictions.result import Reading as KindReading
from core.readers.predictions.roles import CONFIDENCE, KINDS, PREDICTED, words_of
from core.training.submission import check_folder
from pages.ui import (
    frame,
    history_import,
    opening,
    readings,
    session,
    site,
    visitor,
    weights_source,
    widgets,
)
from pages.ui.escape import esc
from pages.ui.intake import (
    FileReading,
    Intake,
    SealedFile,
    instead_of_reading,
    no_room,
    remove,
    server_is_read,
    server_paths,
)
from pages.ui.jobs import launcher
from pages.ui.runs import audit_jobs

AUTO = "(by its name)"
NOTHING = ""
GROUP, WEIGHT = "Rows that belong together", "Rows count as"
UNCHOSEN = {"group": "None", "weight": "One each"}
LABELS = {"group": GROUP, "weight": WEIGHT}
TABLES = {
    "group": "What each row belongs to: a patient, a site",
    "weight": "How many rows each row counts as",
}
# Words of the name of a file.
OF_SCORES = {"score", "scores", "output", "outputs", *CONFIDENCE, *KINDS, *PREDICTED}
OF_LABELS = {"label", "truth", "groundtruth", "target", "y", "gt"}
ID_STEM_WORDS = "From the names of the rows, before their last number"
GROUP_HELP = (
    "Films of one patient are not independent. Choose their column, and every interval and "
    "verdict allows for it."
)
WEIGHT_HELP = "A row with weight 2 counts as two rows."


@dataclass(frozen=True)
class Upload:
    """Files of one import; `tables` holds what was added, by ``group`` and ``weight``."""

    scores: SealedFile
    labels: SealedFile | None = None
    tables: Mapping[str, SealedFile] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """A first name for the run: the file's name without its last suffix."""
        return Path(self.scores.name).stem or self.scores.name

    @property
    def paths(self) -> tuple[Path, ...]:
        """Where the bytes of all files lie."""
        files = (self.scores, self.labels, *self.tables.values())
        return tuple(file.path for file in files if file is not None)


@dataclass(kw_only=True, eq=False)
class ImportReading(FileReading[ReadResult]):
    """An import that is being read, or that was and waits for the user.

    `form` is the fingerprint under which choices for such files are kept: empty until the file
    was read once, by names and values alone. `recalled` says that a recipe, and not the user,
    chose the options.
    """

    upload: Upload
    options: ReadOptions
    form: str = ""
    recalled: bool = False


INTAKE: Final = Intake[ImportReading]("app")


def drop_zone() -> None:
    """Draw the drop zone, and what it takes."""
    INTAKE.zone(
        "A file of logits or probabilities with labels; a label file may come with it",
        _take,
        accept_multiple_files=True,
        label_visibility="collapsed",
    )
    if visitor.off("upload"):
        return
    st.markdown(
        "NPZ, CSV, Parquet, safetensors, PT, JSON and more. Files are never run.",
        help=f"{readings.READ}. Candor tells you what it clips, drops or relabels. For files over "
        f"{defaults.UPLOAD_MB / 1024:.0f} GB use the command line.",
    )
    if not session.sealed():
        st.markdown(
            "On this system files are read with a time limit only. Memory and CPU limits, and "
            "training, need Linux."
        )


def by_path() -> None:
    """Draw the way to files that lie on the server, where that is allowed."""
    instead = audit_jobs.offered()
    paths = server_paths("import", "Its labels, if separate", instead=instead)
    if instead and server_is_read():
        launcher.choose()
    if paths:
        _take_paths(*paths)


def _take_paths(*texts: str) -> None:
    """Read files of the server or queue their audit, or say why the page may not."""
    try:
        paths = [_allowed(text) for text in texts]
        if instead_of_reading("import"):
            audit_jobs.submit(paths)
            st.rerun()
        scores, *labels = [SealedFile(session.link(path), path.name) for path in paths]
    except (UsageError, Refused) as error:
        INTAKE.refuse(error)
        st.rerun()
    except OSError as error:
        INTAKE.refuse(no_room(error))
        st.rerun()
    _read(Upload(scores, labels[0] if labels else None))


def _allowed(text: str) -> Path:
    """Return a plain file, or a folder of shards, below the folders that pages may read.

    Raises
    ------
    UsageError
        FOLDER, as of `check_folder`; FILE: there is none.
    Refused
        As of `shard_files`.
    """
    check_folder(text)
    path = Path(text).expanduser().resolve()
    check_folder(str(path))  # what is linked, should a link have been turned meanwhile
    try:
        there, folder = path.is_file(), path.is_dir()
    except OSError:  # too long, or in a folder that is closed to us
        there = folder = False
    if not (there or folder):
        what = f"There is no readable file {path.name[:100]}"
        raise UsageError("FILE", what, "check the path and the permissions")
    for shard in shard_files(path)[0] if folder else ():
        check_folder(str(shard))  # a shard may be a link
    return path


def _take(*files: SealedFile) -> None:
    """Read a file of scores, and the labels that came with it."""
    if len(files) > 2:
        remove(file.path for file in files)
        what = f"{len(files)} files were dropped at once"
        INTAKE.refuse(UsageError("FILE", what, "drop one file, or a file of scores and its labels"))
        return
    scores, *labels = sorted(files, key=lambda file: _label_rank(Path(file.name).stem))
    _read(Upload(scores, labels[0] if labels else None))


def _label_rank(name: str) -> int:
    """Return 0 for a file named for scores, 2 for one named for labels, 1 for any other."""
    words = words_of(name)
    if any(word in OF_SCORES for word in words):
        return 0
    if any(word.startswith("multi") for word in words):  # what a multi-label file may be called
        return 1
    named = any(word in OF_LABELS or word.endswith(("labels", "targets")) for word in words)
    return 2 if named else 1


def _read(
    upload: Upload,
    options: ReadOptions | None = None,
    *,
    form: str = "",
    recalled: bool = False,
) -> None:
    """Read an upload; `form` names the files that a choice holds for, once they were looked at."""
    from core.readers.sandbox import read as sandbox  # not before there is a file to be read

    options = options or ReadOptions()
    read = partial(
        sandbox.read,
        upload.scores.path,
        name=upload.scores.name,
        labels=upload.labels and upload.labels.path,
        labels_name=upload.labels and upload.labels.name,
        tables=upload.tables,
        options=options,
        # an upload is the session's own; others may shorten a file of the server
        in_place=not any(path.is_symlink() for path in upload.paths),
    )
    reading = ImportReading(
        name=upload.scores.name,
        read=read,
        files=upload.paths,
        upload=upload,
        options=options,
        form=form,
        recalled=recalled,
    )
    INTAKE.start(reading)
    st.rerun()


def finished(reading: ImportReading) -> None:
    """Draw how a file was read, with its audit next; else why not, or what it leaves open."""
    try:
        result = reading.result()
    except AuditError as refusal:
        if reading.recalled:  # what was chosen for such files does not fit this one
            _read(reading.upload, form=reading.form)
        if isinstance(refusal, NeedsChoice):
            _choose_after_refusal(reading, refusal)
        else:
            _refused(reading, refusal)
    else:
        _recall(reading, result.inspection)
        _check(reading, result)


def _recall(reading: ImportReading, inspection: Inspection) -> None:
    """Read again by the recipe that was saved for files of this form, once."""
    if reading.form:
        return
    recipe = load_recipe(visitor.recipes_home(), inspection.fingerprint)
    if recipe:
        options = ReadOptions.from_json(recipe)
        _read(reading.upload, options, form=inspection.fingerprint, recalled=True)


def _refused(reading: ImportReading, refusal: AuditError) -> None:
    with st.container(border=True, key="import"):
        widgets.title(reading.name)
        frame.refusal(refusal, titled=reading.name)
        if isinstance(refusal, LostWorker):
            st.markdown("Nothing was kept or changed.")
        with st.container(horizontal=True):
            if refusal.code == RefusalCode.BIN_HISTORY:
                _offer_gammas(reading)
            if refusal.code == RefusalCode.STATE_DICT:
                _offer_evaluation(reading)
            _without_tables(reading)
            if st.button("Try another file", type="primary", key="import.again"):
                INTAKE.stop()
                st.rerun()


def _offer_gammas(reading: ImportReading) -> None:
    """Offer to keep a history of gammas as what it is, on the page that shows it."""
    if st.button("Open it in Gamma dynamics", key="import.gammas"):
        history_import.take(reading.upload.scores)
        INTAKE.stop(keep=[reading.upload.scores.path])
        st.switch_page(site.GAMMA.script, query_params=dict(st.query_params))


def _offer_evaluation(reading: ImportReading) -> None:
    """Offer to open weights as what they are, on the page that evaluates them."""
    if st.button("Open it in Evaluate", key="import.weights"):
        weights_source.take(reading.upload.scores)
        INTAKE.stop(keep=[reading.upload.scores.path])
        st.switch_page(site.EVALUATE.script)


def _choose_after_refusal(reading: ImportReading, refusal: NeedsChoice) -> None:
    _recall(reading, refusal.inspection)
    inspection = refusal.inspection
    form = reading.form or inspection.fingerprint
    with st.container(border=True, key="import"):
        widgets.title(reading.name, inspection.layout)
        if refusal.code == RefusalCode.UNDECIDED:
            readings.question(refusal)
        else:
            frame.refusal(refusal, titled=reading.name, instead=_remedy(inspection))
        picked = readings.pick(inspection, _this("pick")) if inspection.candidates else None
        if picked is not None:
            _read(reading.upload, picked, form=form)
        _preview(inspection)
        by_hand = not inspection.candidates or (
            _choosable(inspection) and st.toggle("None of these: choose by hand", key=_this("hand"))
        )
        options = _choices(reading, inspection) if by_hand else reading.options
        with st.container(horizontal=True):
            if (
                by_hand
                and _choosable(inspection)
                and st.button(
                    "Read it with these choices" if inspection.candidates else "Read it this way",
                    type="primary",
                    key="import.retry",
                    disabled=options == reading.options,
                )
            ):
                _read(reading.upload, options, form=form)
            _without_groups(reading, form)
            _another_file(reading)


def _without_groups(reading: ImportReading, form: str) -> None:
    """Offer to read a file without the groups and weights that may have been refused."""
    if reading.options.group is None and reading.options.weight is None:
        return
    if st.button("Read the rows as independent", key="import.ungrouped"):
        upload = replace(reading.upload, tables={})
        _read(upload, replace(reading.options, group=None, weight=None), form=form)


def _without_tables(reading: ImportReading) -> None:
    """Offer to read without the tables that were added, one of which may be refused."""
    for name, file in reading.upload.tables.items():
        if st.button(f"Read without {esc(file.name)}", key=f"import.without.{name}"):
            rest = {key: table for key, table in reading.upload.tables.items() if key != name}
            upload = replace(reading.upload, tables=rest)
            without = replace(reading.options, **{name: None})  # type: ignore[arg-type]
            _read(upload, without, form=reading.form)


def _choosable(inspection: Inspection) -> bool:
    """Return whether there is anything to choose: a kind of scores, or an array or column."""
    keys = (inspection.scores_keys, inspection.labels_keys, inspection.id_columns)
    return any(len(names) > 1 for names in keys) or any(r.possible for r in inspection.readings)


def _remedy(inspection: Inspection) -> str:
    """Return what can be done on this page about a file that leaves a choice open."""
    if inspection.candidates:
        return "pick the reading below if it is right, or correct the file and drop it again"
    if _choosable(inspection):
        return "choose below how it is to be read, or add a label file"
    return "add a label file below"


def _notices(result: ReadResult) -> tuple[Notice, ...]:
    """Return the notices; an offer of groups names the choice below, not a command's option."""
    code = NoticeCode.GROUPS_OFFERED
    offer = Notice(code, f"{result.inspection.belonging}; group their rows below")
    return tuple(offer if notice.code == code else notice for notice in result.notices)


def _check(reading: ImportReading, result: ReadResult) -> None:
    """Show how the file was read and what follows; the user agrees or chooses."""
    inspection = result.inspection
    with st.container(border=True, key="import"):
        widgets.title(reading.name, inspection.layout)
        if inspection.kind is not None:
            kind = readings.KIND_WORDS[inspection.kind].lower()
            st.markdown(f"Read as **{kind}**: {esc(inspection.reason)}.")
        if reading.recalled:
            _recalled(reading)
        frame.notices(_notices(result))
        _preview(inspection)
        options = _belonging(inspection, _choices(reading, inspection))
        for name, file in reading.upload.tables.items():
            widgets.caption(f"{LABELS[name]}: a column of {file.name}")
        with st.container(horizontal=True):
            if options != reading.options:
                if st.button("Read it this way", type="primary", key="import.retry"):
                    _read(reading.upload, options, form=reading.form or inspection.fingerprint)
            elif st.button("Audit this file", type="primary", key="import.audit"):
                _accept(reading, result)
            _add_tables(reading, options, reading.form or inspection.fingerprint)
            _another_file(reading)


def _recalled(reading: ImportReading) -> None:
    """Say that a kept recipe decided, with the way out of it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Read as chosen before for files like this.")
        if st.button("Forget that choice", key="import.forget"):
            forget_recipe(visitor.recipes_home(), reading.form)
            _clear_choices()
            _read(reading.upload, form=reading.form)


def _preview(inspection: Inspection) -> None:
    rows = [dict(zip(_unique(inspection.header), row, strict=True)) for row in inspection.rows]
    if rows:
        widgets.caption("The first rows of the file")
        st.dataframe(rows, hide_index=True, key="import.preview", width="stretch")


def _unique(names: tuple[str, ...]) -> list[str]:
    """Return the names with a number behind each that was there before."""
    counts: dict[str, int] = {}
    out = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        out.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return out


def _choices(reading: ImportReading, inspection: Inspection) -> ReadOptions:
    """Draw the choices and return what they say."""
    options = reading.options
    initial_kind = options.scores or inspection.kind
    kind = _kind(inspection, initial_kind)
    keys = (inspection.scores_keys, inspection.labels_keys, inspection.id_columns)
    if not any(len(names) > 1 for names in keys):
        return replace(options, scores=options.scores if kind == initial_kind else kind)
    with st.expander(
        "Read other arrays or columns", expanded=not inspection.kind, key=_this("keys")
    ):
        scores_key = _key("Scores are in", inspection.scores_keys, options.scores_key, "scores_key")
        labels_key = _key("Labels are in", inspection.labels_keys, options.labels_key, "labels_key")
        id_column = _key("Rows are named by", inspection.id_columns, options.id_column, "id_column")
    return replace(
        options,
        scores=options.scores if kind == initial_kind else kind,
        scores_key=scores_key,
        labels_key=labels_key,
        id_column=id_column,
    )


def _belonging(inspection: Inspection, options: ReadOptions) -> ReadOptions:
    """Draw what rows may belong to and count as, where a file says it; nothing is preselected."""
    with st.container(horizontal=True):
        group = _offered(GROUP, inspection.group_columns, options.group, "group", GROUP_HELP)
        weight = _offered(WEIGHT, inspection.weight_columns, options.weight, "weight", WEIGHT_HELP)
    return replace(options, group=group, weight=weight)


def _offered(
    label: str, columns: tuple[str, ...], chosen: str | None, name: str, tip: str
) -> str | None:
    if not columns and chosen is None:
        return None
    options = [NOTHING, *dict.fromkeys([*columns, *([chosen] if chosen else [])])]
    picked = st.selectbox(
        label,
        options,
        index=options.index(chosen or NOTHING),
        format_func=lambda key: ID_STEM_WORDS if key == ID_STEM else key or UNCHOSEN[name],
        key=_this(name),
        width=320,
        help=tip,
    )
    return picked or None


def _this(name: str) -> str:
    """Return a widget key that belongs to this file, so that the next one starts afresh."""
    return f"import.{name}.{INTAKE.drops}"


def _clear_choices() -> None:
    """Let the choices of this file start from what it is read as again."""
    ending = _this("")[len("import.") :]
    for key in [str(key) for key in st.session_state]:
        if key.startswith("import.") and key.endswith(ending):
            del st.session_state[key]


def _kind(inspection: Inspection, chosen: ScoreKind | None) -> ScoreKind | None:
    possible = [reading.kind for reading in inspection.readings if reading.possible]
    if not possible:
        return chosen
    by_kind = {reading.kind: reading for reading in inspection.readings}
    picked = st.radio(
        "The scores are",
        [str(kind) for kind in possible],
        index=possible.index(chosen) if chosen in possible else None,
        format_func=lambda kind: readings.KIND_WORDS[ScoreKind(kind)],
        captions=[_consequence(by_kind[kind]) for kind in possible],
        key=_this("kind"),
        horizontal=True,
    )
    impossible = [r for r in inspection.readings if not r.possible and r.why_not]
    for reading in impossible:
        widgets.caption(f"Not {readings.KIND_WORDS[reading.kind].lower()}: {reading.why_not}")
    return ScoreKind(picked) if picked else None


def _consequence(reading: KindReading) -> str:
    if reading.accuracy is None or reading.mean_confidence is None:
        return ""
    right, sure = 100 * reading.accuracy, 100 * reading.mean_confidence
    return f"right {right:.1f} % of the time, says {sure:.1f} % on average"


def _key(label: str, keys: tuple[str, ...], chosen: str | None, name: str) -> str | None:
    if len(keys) < 2 and not chosen:
        return None
    options = [AUTO, *keys, *([chosen] if chosen and chosen not in keys else [])]
    picked = st.selectbox(
        label, options, index=options.index(chosen or AUTO), key=_this(name), width=220
    )
    return None if picked == AUTO else str(picked)


def _accept(reading: ImportReading, result: ReadResult) -> None:
    """Make it a draft, keep what was chosen for files of this form, and open it."""
    chosen = reading.options
    # a column of a table of its own is not there in the next file
    chosen = replace(chosen, **dict.fromkeys(reading.upload.tables))  # type: ignore[arg-type]
    if chosen != ReadOptions() and not reading.recalled:
        save_recipe(visitor.recipes_home(), reading.form, chosen.to_json())
    draft = session.add_draft(reading.upload.title, reading.name, result)
    INTAKE.stop()
    opening.open_in_reliability(draft.id)


def _another_file(reading: ImportReading) -> None:
    """Offer to add a label file, or to leave this file."""
    upload = reading.upload
    if upload.labels is None:
        with st.popover("Add a label file", key="import.labels"):
            INTAKE.zone(
                "Labels by row order, or by the column that names the rows",
                lambda labels: _read(replace(upload, labels=labels)),
                name="labels",
            )
    elif st.button("Swap scores and labels", key="import.swap"):
        _read(replace(upload, scores=upload.labels, labels=upload.scores))
    st.button("Discard", key="import.discard", on_click=INTAKE.stop)


def _add_tables(reading: ImportReading, chosen: ReadOptions, form: str) -> None:
    """Offer to add tables that say what each row belongs to, and how many rows it counts as.

    What is chosen on the page holds on, also where it was not read that way yet.
    """
    with st.popover("Add groups or weights", key=_this("tables")):  # closes once one was taken
        widgets.caption("CSV, TSV or Parquet, plain or gzipped. One column names the rows.")
        for name, label in TABLES.items():
            INTAKE.zone(label, partial(_add_table, reading.upload, chosen, form, name), name=name)


def _add_table(
    upload: Upload, chosen: ReadOptions, form: str, name: str, table: SealedFile
) -> None:
    with_table = replace(upload, tables={**upload.tables, name: table})
    _read(with_table, replace(chosen, **{name: None}), form=form)  # type: ignore[arg-type]
