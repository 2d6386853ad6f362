"""The import: drop a file, see how it was read, choose another reading, audit it."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st

from core import defaults
from core.codes import NoticeCode, RefusalCode
from core.errors import AuditError, LostWorker, Notice, Refused, UsageError
from core.library.recipes import forget_recipe, load_recipe, save_recipe
from core.predictions import GROUP_NOUNS, ScoreKind
from core.readers.formats.shards import shard_files
from core.readers.predictions.companions import TOO_NARROW
from core.readers.predictions.result import (
    ID_STEM,
    Inspection,
    NeedsChoice,
    ReadOptions,
    ReadResult,
    join_names,
)
from core.training.submission import check_folder
from pages.ui import frame, intake, selected_runs, session, site, visitor, weights_source, widgets
from pages.ui.intake import (
    FileReading,
    Intake,
    SealedFile,
    instead_of_reading,
    server_is_read,
    server_paths,
)
from pages.ui.jobs import machine
from pages.ui.markup import esc
from pages.ui.runs import audit_jobs

AUTO = "(by its name)"
NOTHING = ""
EACH = "app.each"  # in the session: how the models of a file are to be read, each by itself
GROUP, WEIGHT = "Rows that belong together", "Rows count as"
UNCHOSEN = {"group": "None", "weight": "One each"}
LABELS = {"group": GROUP, "weight": WEIGHT}
TABLES = {
    "group": "What each row belongs to: a patient, a site",
    "weight": "How many rows each row counts as",
}
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


@dataclass(frozen=True, kw_only=True)
class Import:
    """What is to be read, and what for."""

    upload: Upload
    options: ReadOptions = field(default_factory=ReadOptions)
    # The fingerprint under which choices for such files are kept: empty until the file was read
    # once, by names and values alone.
    form: str = ""
    recalled: bool = False  # a recipe, and not the user, chose the options
    draft: str = ""  # the draft whose place it takes, if any
    listed: bool = False  # it is one of several that were dropped together
    grouped: bool = False  # what rows may belong to was asked beside another question
    model: str = ""  # whose scores are read, where the file holds those of several models


@dataclass(kw_only=True, eq=False)
class ImportReading(FileReading[ReadResult]):
    """An import that is being read, or that was and waits for the user."""

    plan: Import
    shown: bool = False  # a draft is shown as it was read: the user asked for it
    # Its files by themselves, each of which was read: they may not belong together.
    alone: "tuple[ImportReading, ...]" = ()

    @property
    def outcome(self) -> ReadResult | AuditError:
        """What was read, or why it was refused."""
        try:
            return self.result()
        except AuditError as refusal:
            return refusal

    @property
    def inspection(self) -> Inspection | None:
        """What was seen of the file, if it was opened."""
        outcome = self.outcome
        return outcome.inspection if isinstance(outcome, ReadResult | NeedsChoice) else None

    @property
    def offer(self) -> str:
        """What was read and leaves to be chosen: groups that its rows may belong to."""
        outcome = self.outcome
        if not isinstance(outcome, ReadResult):
            return ""
        offered = any(notice.code == NoticeCode.GROUPS_OFFERED for notice in outcome.notices)
        return outcome.inspection.belonging if offered else ""


INTAKE: Final = Intake[ImportReading]("app")


def waiting() -> list[ImportReading]:
    """Return what was read of files that were dropped together, and is not settled."""
    readings: list[ImportReading] = st.session_state.setdefault("app.waiting", [])
    return readings


def kept_files() -> set[Path]:
    """Return the files that drafts were read from, and those that wait for an answer."""
    return session.draft_files().union(*(reading.files for reading in waiting()))


def drop_zone(take: Callable[..., None]) -> None:
    """Draw the drop zone, which gives all files of a drop away, and say what it takes."""
    INTAKE.zone(
        "Files of logits or probabilities with labels; label files may come with them",
        take,
        accept_multiple_files=True,
        label_visibility="collapsed",
    )
    if visitor.off("upload"):
        return
    st.markdown(
        "NPZ, CSV, PT, JSON and more.",
        help=f"{intake.READ}. Files are never run. Candor tells you what it clips, drops "
        f"or relabels. For files over {defaults.UPLOAD_MB / 1024:.0f} GB use the command line.",
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
        machine.choose()
    if not paths:
        return
    try:
        allowed = [_allowed(text) for text in paths]
        if instead_of_reading("import"):
            audit_jobs.submit(allowed)
            st.rerun()
        scores, *labels = [SealedFile(session.link(path), path.name) for path in allowed]
    except (UsageError, Refused, OSError) as error:
        INTAKE.refuse(error)
        st.rerun()
    read(Import(upload=Upload(scores, labels[0] if labels else None)))


def _allowed(text: str) -> Path:
    """Return a plain file, or a folder of shards, below the folders that pages may read.

    Raises UsageError FOLDER, as of `check_folder`; FILE: there is none. Refused as of
    `shard_files`.
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


def read(plan: Import) -> None:
    """Read files in place of what was read before, and draw the page anew."""
    INTAKE.stop(keep=kept_files().union(plan.upload.paths))
    INTAKE.start(reading_of(plan))
    st.rerun()


def reading_of(plan: Import) -> ImportReading:
    """Return a reading that can be started."""
    from core.readers.sandbox import read as sandbox  # not before there is a file to be read

    upload = plan.upload
    call = partial(
        sandbox.read,
        upload.scores.path,
        name=upload.scores.name,
        labels=upload.labels and upload.labels.path,
        labels_name=upload.labels and upload.labels.name,
        tables=upload.tables,
        options=plan.options,
        # an upload is the session's own; others may shorten a file of the server
        in_place=not any(path.is_symlink() for path in upload.paths),
    )
    return ImportReading(name=upload.scores.name, read=call, files=upload.paths, plan=plan)


def finished(reading: ImportReading) -> None:
    """Open what was read; draw why it was refused, or what it leaves open."""
    again = anew(reading)
    if again is not None:
        read(again)
    outcome = reading.outcome
    if isinstance(outcome, ReadResult):
        if reading.shown or asks(reading):
            _check(reading, outcome)
        else:
            _accept(reading, outcome)
    elif isinstance(outcome, NeedsChoice):
        _choose_after_refusal(reading, outcome)
    else:
        with st.container(border=True, key="import"):
            widgets.title(reading.name)
            frame.refusal(outcome, titled=reading.name)
            if isinstance(outcome, LostWorker):
                st.markdown("Nothing was kept or changed.")
            with st.container(horizontal=True):
                plan, file = reading.plan, reading.plan.upload.scores
                # A history of gammas or weights can be opened as what they are
                if outcome.code == RefusalCode.BIN_HISTORY and st.button(
                    "Open it in Gamma dynamics", key="import.gammas"
                ):
                    intake.take_history(file)
                    INTAKE.stop(keep=kept_files() | {file.path})
                    st.switch_page(site.GAMMA.script, query_params=dict(st.query_params))
                if outcome.code == RefusalCode.STATE_DICT and st.button(
                    "Open it in Evaluate", key="import.weights"
                ):
                    weights_source.take(file)
                    INTAKE.stop(keep=kept_files() | {file.path})
                    st.switch_page(site.EVALUATE.script)
                # Offer to read without the tables that were added, one of which may be refused
                for name, table in plan.upload.tables.items():
                    if st.button(f"Read without {esc(table.name)}", key=f"import.without.{name}"):
                        rest = {key: t for key, t in plan.upload.tables.items() if key != name}
                        upload = replace(plan.upload, tables=rest)
                        without = replace(plan.options, **{name: None})  # type: ignore[arg-type]
                        read(replace(plan, upload=upload, options=without, recalled=False))
                st.button("Try another file", type="primary", key="import.again", on_click=leave)
                _to_list(reading)


def anew(reading: ImportReading) -> Import | None:
    """Return how a file is to be read again, once: by the recipe for files of its form.

    Where that does not fit it, it is read without.
    """
    plan, inspection = reading.plan, reading.inspection
    if plan.recalled and isinstance(reading.outcome, AuditError):
        return replace(plan, options=ReadOptions(), recalled=False)
    if plan.form or inspection is None:
        return None
    recipe = load_recipe(visitor.recipes_home(), inspection.fingerprint)
    if not recipe:
        return None
    options = ReadOptions.from_json(recipe)
    return replace(plan, options=options, form=inspection.fingerprint, recalled=True)


def asks(reading: ImportReading) -> bool:
    """Whether the user is to say more of a file that was read: groups, or a table's column."""
    options = reading.plan.options
    return (bool(reading.offer) and not reading.plan.grouped) or any(
        getattr(options, name) is None for name in reading.plan.upload.tables
    )


def _choose_after_refusal(reading: ImportReading, refusal: NeedsChoice) -> None:
    inspection = refusal.inspection
    plan = replace(reading.plan, form=reading.plan.form or inspection.fingerprint, recalled=False)
    with st.container(border=True, key="import"):
        widgets.title(reading.name, inspection.layout)
        if refusal.code == RefusalCode.UNDECIDED:
            intake.reading_question(refusal, inspection)
        else:
            remedy = "add a label file below"
            if inspection.candidates:
                remedy = (
                    "pick the reading below if it is right, or correct the file and drop it again"
                )
            elif _choosable(inspection):
                remedy = "choose below how it is to be read, or add a label file"
            frame.refusal(refusal, titled=reading.name, instead=remedy)
        sampling = _belonging(inspection, plan.options) if inspection.candidates else plan.options
        picked = intake.pick_reading(inspection, _this("pick")) if inspection.candidates else None
        if picked is not None:
            options = replace(picked, group=sampling.group, weight=sampling.weight)
            read(replace(plan, options=options, grouped=bool(inspection.group_columns)))
        # The scores of each of a file's models can be a run of its own
        models = inspection.models
        each = "both as two runs" if len(models) == 2 else f"all {len(models)} as runs of their own"
        if models and st.button(f"Read {each}", type="primary", key="import.each"):
            own = replace(plan, draft="", listed=True, grouped=bool(inspection.group_columns))
            st.session_state[EACH] = [
                replace(
                    own,
                    options=replace(one.options, group=sampling.group, weight=sampling.weight),
                    model=one.model,
                )
                for one in models
            ]
            INTAKE.readings.clear()  # its file is read again
            st.rerun()
        intake.reading_preview(inspection, "import.preview")
        by_hand = not inspection.candidates or (
            _choosable(inspection) and st.toggle("None of these: choose by hand", key=_this("hand"))
        )
        options = _choices(plan.options, inspection) if by_hand else plan.options
        with st.container(horizontal=True):
            if (
                by_hand
                and _choosable(inspection)
                and st.button(
                    "Read it with these choices" if inspection.candidates else "Read it this way",
                    type="primary",
                    key="import.retry",
                    disabled=options == plan.options,
                )
            ):
                read(replace(plan, options=options))
            # Groups and weights may be what was refused
            grouped = plan.options.group is not None or plan.options.weight is not None
            if grouped and st.button("Read the rows as independent", key="import.ungrouped"):
                alone = replace(plan.options, group=None, weight=None)
                read(replace(plan, upload=replace(plan.upload, tables={}), options=alone))
            _another_file(reading)


def _choosable(inspection: Inspection) -> bool:
    """Return whether there is anything to choose: a kind of scores, or an array or column."""
    several = any(len(names) > 1 for names in _keys(inspection)) or inspection.confidence_words
    return bool(several) or any(r.possible for r in inspection.readings)


def _keys(inspection: Inspection) -> tuple[tuple[str, ...], ...]:
    """Return what scores, labels, answers and names of rows may be read from."""
    return (
        inspection.scores_keys,
        inspection.labels_keys,
        inspection.answer_keys,
        inspection.id_columns,
    )


def _check(reading: ImportReading, result: ReadResult) -> None:
    """Show how the file was read and what follows; the user agrees or chooses."""
    inspection = result.inspection
    with st.container(border=True, key="import"):
        plan = replace(reading.plan, form=reading.plan.form or inspection.fingerprint)
        widgets.title(reading.name, inspection.layout)
        intake.reading_kind(inspection)
        if plan.recalled:
            # Say that a kept recipe decided, with the way out of it
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(intake.RECALLED)
                if st.button("Forget that choice", key="import.forget"):
                    forget_recipe(visitor.recipes_home(), plan.form)
                    # Let the choices of this file start from what it is read as again
                    ending = _this("")[len("import.") :]
                    for key in [str(key) for key in st.session_state]:
                        if key.startswith("import.") and key.endswith(ending):
                            del st.session_state[key]
                    read(replace(plan, options=ReadOptions(), recalled=False))
        # The notices; an offer of groups names the choice below, not a command's option
        code = NoticeCode.GROUPS_OFFERED
        offer = Notice(code, f"{result.inspection.belonging}; group their rows below{TOO_NARROW}")
        notices = tuple(offer if notice.code == code else notice for notice in result.notices)
        frame.notices(notices)
        intake.reading_preview(inspection, "import.preview")
        # The only column of a table, or the only one named as groups are, is chosen for a start
        options = plan.options
        columns = {"group": inspection.group_columns, "weight": inspection.weight_columns}
        for name in plan.upload.tables:
            named = [key for key in columns[name] if any(n in key.lower() for n in GROUP_NOUNS)]
            obvious = next((keys[0] for keys in (columns[name], named) if len(keys) == 1), "")
            if obvious and getattr(options, name) is None:
                options = replace(options, **{name: obvious})  # type: ignore[arg-type]
        options = _belonging(inspection, _choices(options, inspection))
        for name, file in plan.upload.tables.items():
            widgets.caption(f"{LABELS[name]}: a column of {file.name}")
        with st.container(horizontal=True):
            if options != plan.options:
                if st.button("Read it this way", type="primary", key="import.retry"):
                    read(replace(plan, options=options, recalled=False))
            elif st.button("Audit this file", type="primary", key="import.audit"):
                _accept(reading, result)
            # What is chosen on the page holds on, also where it was not read that way yet
            chosen = replace(plan, options=options, recalled=False)
            with st.popover("Add groups or weights", key=_this("tables")):  # closes once one came
                widgets.caption("CSV, TSV or Parquet, plain or gzipped. One column names the rows.")
                for name, label in TABLES.items():
                    INTAKE.zone(label, partial(_add_table, chosen, name), name=name)
            _another_file(reading)


def _choices(options: ReadOptions, inspection: Inspection) -> ReadOptions:
    """Draw the choices and return what they say."""
    initial_kind = options.scores or inspection.kind
    kind = initial_kind
    possible = {reading.kind: reading for reading in inspection.readings if reading.possible}
    if possible:
        captions = [
            f"right {100 * reading.accuracy:.1f} % of the time, says "
            f"{100 * reading.mean_confidence:.1f} % on average"
            if reading.accuracy is not None and reading.mean_confidence is not None
            else ""
            for reading in possible.values()
        ]
        picked = st.radio(
            "The scores are",
            [str(kind) for kind in possible],
            index=[*possible].index(kind) if kind in possible else None,
            format_func=lambda kind: intake.KIND_WORDS[ScoreKind(kind)],
            captions=captions,
            key=_this("kind"),
            horizontal=True,
        )
        for reading in inspection.readings:
            if not reading.possible and reading.why_not:
                label = intake.KIND_WORDS[reading.kind].lower()
                widgets.caption(f"Not {label}: {reading.why_not}")
        kind = ScoreKind(picked) if picked else None
    # A number for each word of confidence counts once every word has one
    words = inspection.confidence_words
    with st.container(horizontal=True):
        numbers = [
            st.number_input(
                f"“{word}” stands for", 0.0, 1.0, value=None, key=_this(f"word.{k}"), width=170
            )
            for k, word in enumerate(words)
        ]
    given = [f"{w}={n:g}" for w, n in zip(words, numbers, strict=True) if n is not None]
    if words and len(given) == len(words):
        options = replace(options, scale=join_names(given))
    if options.epoch in inspection.epochs:
        at = inspection.epochs.index(options.epoch)
        epoch = st.selectbox(
            "Epoch or setting", inspection.epochs, at, key=_this("epoch"), width=220
        )
        options = replace(options, epoch=epoch)
    if not any(len(names) > 1 for names in _keys(inspection)):
        return replace(options, scores=options.scores if kind == initial_kind else kind)
    with st.expander(
        "Read other arrays or columns", expanded=not inspection.kind, key=_this("keys")
    ):
        scores_key = _key("Scores are in", inspection.scores_keys, options.scores_key, "scores_key")
        labels_key = _key("Labels are in", inspection.labels_keys, options.labels_key, "labels_key")
        answer_key = _key(
            "Answers are in", inspection.answer_keys, options.prediction_key, "prediction_key"
        )
        id_column = _key("Rows are named by", inspection.id_columns, options.id_column, "id_column")
    return replace(
        options,
        scores=options.scores if kind == initial_kind else kind,
        scores_key=scores_key,
        labels_key=labels_key,
        prediction_key=answer_key,
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


def _key(label: str, keys: tuple[str, ...], chosen: str | None, name: str) -> str | None:
    if len(keys) < 2 and not chosen:
        return None
    options = [AUTO, *keys, *([chosen] if chosen and chosen not in keys else [])]
    picked = st.selectbox(
        label, options, index=options.index(chosen or AUTO), key=_this(name), width=220
    )
    return None if picked == AUTO else str(picked)


def _accept(reading: ImportReading, result: ReadResult) -> None:
    """Make it a draft, keep what was chosen for files of this form, and open it or the list."""
    plan = reading.plan
    draft_id = plan.draft if reading.shown else add_draft(reading, result).id
    for other in list(waiting()) if plan.listed else ():  # which leaves the same to be chosen
        seen = other.inspection
        same = seen is not None and seen.fingerprint == result.inspection.fingerprint
        if same and other.offer and other.plan.options == plan.options:
            waiting().remove(other)
            add_draft(other, other.result())
    leave()
    if plan.listed:
        st.session_state["app.answered"] = True
        st.rerun()
    selected_runs.open_in_reliability(draft_id)


def add_draft(reading: ImportReading, result: ReadResult) -> session.Draft:
    """Make what was read a draft, and keep what the user chose for files of this form."""
    plan = reading.plan
    # a column of a table of its own is not there in the next file
    chosen = replace(plan.options, **dict.fromkeys(plan.upload.tables))  # type: ignore[arg-type]
    if chosen != ReadOptions() and not plan.recalled and not plan.model:
        save_recipe(visitor.recipes_home(), plan.form, chosen.to_json())
    draft = session.add_draft(
        f"{plan.upload.title} {plan.model}".strip(),
        reading.name,
        result,
        plan.upload.paths,
        partial(_show, replace(plan, draft="", listed=False)),
        recalled=plan.recalled,
    )
    if plan.draft:
        forget_draft(plan.draft)
    return draft


def forget_draft(draft_id: str) -> None:
    """Discard a draft, and stop what runs for it."""
    from pages.ui import drafts  # with what only other pages need

    drafts.forget(draft_id)


def _show(plan: Import, draft: session.Draft) -> None:
    """Show on the Runs page how a draft was read, so that it can be read another way."""
    reading = reading_of(replace(plan, draft=draft.id))
    reading.shown, reading.future = True, Future()
    reading.future.set_result(draft.result)
    leave()
    INTAKE.readings.append(reading)


def leave() -> None:
    """Close what was read, and remove the files that nothing else needs."""
    INTAKE.stop(keep=kept_files())


def _discard(reading: ImportReading) -> None:
    """Close what was read, and discard the draft that it was."""
    if reading.plan.draft:
        forget_draft(reading.plan.draft)
    leave()


def _to_list(reading: ImportReading) -> None:
    """Offer to answer later what one of several files leaves open."""
    if reading.plan.listed:
        st.button("Back to the list", key="import.later", on_click=_later, args=(reading,))


def _later(reading: ImportReading) -> None:
    waiting().append(reading)
    INTAKE.readings.clear()


def _another_file(reading: ImportReading) -> None:
    """Offer to add a label file, or to leave this file."""
    plan = replace(reading.plan, recalled=False)
    upload = plan.upload
    if upload.labels is None:
        with st.popover("Add a label file", key="import.labels"):
            INTAKE.zone(
                "Labels by row order, or by the column that names the rows",
                lambda labels: read(replace(plan, upload=replace(upload, labels=labels))),
                name="labels",
            )
    elif st.button("Swap scores and labels", key="import.swap"):
        swapped = replace(upload, scores=upload.labels, labels=upload.scores)
        read(Import(upload=swapped, draft=plan.draft, listed=plan.listed))
    _to_list(reading)
    st.button("Discard", key="import.discard", on_click=_discard, args=(reading,))


def _add_table(plan: Import, name: str, table: SealedFile) -> None:
    upload = replace(plan.upload, tables={**plan.upload.tables, name: table})
    options = replace(plan.options, **{name: None})  # type: ignore[arg-type]
    read(replace(plan, upload=upload, options=options))
