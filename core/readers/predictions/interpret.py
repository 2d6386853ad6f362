"""Contents as predictions: layout, join, judgement and inspection, in that order."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations

import numpy as np

from core.arrays import Bool, Float
from core.codes import NoticeCode, RefusalCode
from core.errors import Notice, Refused, about
from core.predictions import COPIES, Groups, ScoreKind, Task
from core.readers.formats.archive import unpacked
from core.readers.formats.contents import (
    Contents,
    FileBytes,
    FileLayout,
    SplitArrays,
    is_binary,
    is_text,
    is_whole,
)
from core.readers.formats.parse import read_contents
from core.readers.formats.shards import Shards, read_shards
from core.readers.formats.text import fractions, words_in
from core.readers.predictions.arrays_layout import lay_out_arrays
from core.readers.predictions.companions import (
    GroupOffer,
    LabelAndTableFiles,
    attach_dates,
    attach_groups,
    attach_labels,
    with_offers,
    without_chosen,
)
from core.readers.predictions.inspect import describe, explained, inspect, refuse_detections
from core.readers.predictions.labels import scaled
from core.readers.predictions.names import Role, counted, listed, name_entry, says_correct, words_of
from core.readers.predictions.plausibility import (
    ask_one_hot,
    consequences,
    crossed_question,
    example,
    mapping_question,
    skill,
    turned_question,
    twice_question,
)
from core.readers.predictions.result import (
    Inspection,
    NeedsChoice,
    OpenQuestion,
    PairMeaning,
    Question,
    ReadChoice,
    ReadingCandidate,
    ReadOptions,
    Units,
    choose_split,
    undecided,
)
from core.readers.predictions.validate import (
    JudgedSplit,
    SettledSplit,
    answers,
    labelled,
    prepare,
    united,
)
from core.readers.tables.long_table import of_epoch, widened
from core.readers.tables.table_layout import lay_out_table
from core.repeats import sets_of_copies


def repeated(
    splits: dict[str, JudgedSplit], offers: tuple[GroupOffer, ...] = ()
) -> tuple[dict[str, JudgedSplit], list[Notice]]:
    """Say of rows that occur twice, and of parts that are the same; let copies be groups.

    Names of rows that repeat may also say which rows belong together, if they are offered as that.
    """
    notices, judged = [], dict(splits)
    names_rows = next((offer for offer in offers if offer.names_rows), None)
    for name, ready in splits.items():
        ids = ready.row_ids
        twice = len(ids) - len(set(ids))
        if twice and names_rows is not None and names_rows.meant:
            continue  # which is said where it is offered
        if twice:
            text = f"{counted(twice, 'row name')} of {len(ids)} occur before in the {name} part"
            text += ": rows may have been counted twice"
            if names_rows is not None and ready.prepared.part.groups is None:
                text += f"; if they belong together, say {names_rows.command}"
            notices.append(Notice(NoticeCode.ROWS_REPEATED, text))
        if ready.prepared.part.groups is None:
            judged[name], again = _with_copies(ready)
            if again:
                text = f"{again:,} of {len(ready.prepared.scores):,} rows repeat another bit for "
                text += f"bit in the {name} part: copies are drawn together, so intervals and "
                text += "tests count them once. If they are rows of their own, say so with --group"
                notices.append(Notice(NoticeCode.ROWS_REPEATED, text))
    names = list(splits)
    # A calibrator that is fitted and judged on the same rows looks perfect.
    for first, second in combinations(names, 2):
        first_split, second_split = splits[first], splits[second]
        equal = np.array_equal(first_split.prepared.scores, second_split.prepared.scores)
        if equal and np.array_equal(first_split.labels, second_split.labels):
            text = f"the parts {first} and {second} hold the same rows: what is fitted on "
            notices.append(Notice(NoticeCode.SAME_ROWS, f"{text}one cannot be judged on the other"))
    return judged, notices


def _with_copies(ready: JudgedSplit) -> tuple[JudgedSplit, int]:
    """Return a part whose copies of a row are a group, and how many rows repeat another."""
    prepared, logits = ready.prepared, ready.verdict.kind is ScoreKind.LOGITS
    scores, labels = prepared.scores, ready.labels

    def outcomes() -> tuple[Float, Bool]:
        if not ready.labelled:  # which tell nothing
            return np.zeros(len(scores)), np.zeros(len(scores), dtype=np.bool_)
        own, known = answers(ready), labels >= 0
        if labels.ndim == 1:
            return own.confidence, own.correct
        sure, right = np.ones(labels.shape), np.ones(labels.shape, dtype=np.bool_)
        sure[known], right[known] = own.confidence, own.correct  # unknown ones tell nothing
        return sure, right

    sets = sets_of_copies(scores, labels, outcomes, logits=logits)
    if sets is None:
        return ready, 0
    groups = Groups(COPIES, sets)
    part = replace(prepared.part, groups=groups)
    return replace(ready, prepared=replace(prepared, part=part)), sets.size - groups.count


MOST_CHOICES = 12  # looked at, with those of questions that follow
RULED_OUT = {
    RefusalCode.PROB_RANGE,
    RefusalCode.PROB_SUM,
    RefusalCode.CLASSES,
    RefusalCode.LABEL_RANGE,
}


@dataclass(frozen=True)
class InterpretedFile:
    """Splits ready to become predictions, with what was assumed."""

    splits: dict[str, JudgedSplit]
    notices: tuple[Notice, ...]
    inspection: Inspection
    recipe: ReadOptions

    @property
    def audited(self) -> JudgedSplit:
        """The part that is audited when nobody says."""
        return self.splits[choose_split(self.splits)]


def read_source(
    source: FileBytes | Shards,
    labels: FileBytes | None,
    options: ReadOptions,
    tables: Mapping[str, FileBytes] | None = None,
) -> InterpretedFile:
    """Read a file, with its label file and tables of groups and weights, in this process.

    `tables`: by ``group`` and ``weight``: a table, of which the option of that name names a column.

    Raises Refused: any refusal; NeedsChoice, with an inspection, once the file could be opened.
    """
    try:
        if isinstance(source, Shards):
            contents = read_shards(source)
        else:
            contents = read_contents(replace(source, records=options.records))
    except Question as question:
        inspection = Inspection("", None, "", (), (), (), (), "")

        def read(chosen: ReadOptions) -> InterpretedFile:
            return read_source(source, labels, chosen, tables)

        raise NeedsChoice(
            question, _open(inspection, *_candidates(question, read, options))
        ) from None
    with about("" if labels is None else labels.name):
        others = None if labels is None else read_contents(labels)
    lists, names = {}, {}
    for option, table in (tables or {}).items():
        names[f"table of {option}s"] = table.name
        with about(table.name):
            lists[option] = read_contents(unpacked(table))  # it may be packed with gzip
    # The two files may come in either order: what holds fractions is the scores.
    if labels is None or others is None or not _turned(contents, others, options):
        names["label file"] = "" if labels is None else labels.name
        with _about_companions(names):
            return interpret(contents, LabelAndTableFiles(others, lists), options)
    names["label file"] = source.name
    with about(labels.name), _about_companions(names):
        reading = interpret(others, LabelAndTableFiles(contents, lists), options)
    text = f"{source.name} was taken for the labels, {labels.name} for the scores"
    return replace(reading, notices=(Notice(NoticeCode.KEYS_GUESSED, text), *reading.notices))


@contextmanager
def _about_companions(names: Mapping[str, str]) -> Iterator[None]:
    """Name the file of labels, groups or weights in a refusal that lies in it."""
    try:
        yield
    except Refused as refusal:
        refusal.file = refusal.file or names.get(refusal.location, "")
        raise


def _turned(contents: Contents, others: Contents, options: ReadOptions) -> bool:
    """Whether two files came in the wrong order: fractions are only where labels should be."""
    if options.scores_key in contents.entries or options.labels_key in others.entries:
        return False
    for name, entry in contents.entries.items():
        role = name_entry(name, entry).role
        if is_text(entry) or role in (Role.IDS, Role.LABELS):
            continue
        # No scores are whole numbers in one column, or 0 and 1.
        flat = entry.ndim == 1 or 1 in entry.shape
        if role is not Role.UNUSED or not (is_whole(entry) if flat else is_binary(entry)):
            return False
    named = [name_entry(name, entry) for name, entry in others.entries.items()]
    numbers = [e for e in others.entries.values() if not is_text(e)]
    called = any(item.role is Role.LABELS for item in named)
    return not called and not all(is_whole(entry) for entry in numbers)


@np.errstate(invalid="ignore")  # a cast warns of a signalling NaN, which is refused by its place
def interpret(
    contents: Contents, added: LabelAndTableFiles, options: ReadOptions
) -> InterpretedFile:
    """Return the predictions that contents hold.

    Raises NeedsChoice: whatever is wrong, with what was seen until then; UNDECIDED where the file
    bears several readings, with what each would mean.
    """
    if contents.group and options.group is None and "group" not in added.tables:
        options = replace(options, group=contents.group)
    try:
        reading = _interpret(contents, added, options)
    except NeedsChoice as refusal:
        if refusal.question is None:
            raise
        question, inspection = refusal.question, refusal.inspection
    else:
        doubt = _doubt(reading, contents, added, options)
        if doubt is None:
            return reading
        question, inspection = doubt, reading.inspection
    # Read in the one way that is possible, or refuse with all that is open and what follows.
    candidates: list[ReadingCandidate] = []
    last: InterpretedFile | None = None
    # A reading is taken unasked only if all others are impossible by what they are; one that fails
    # by a bad cell might be the right one.
    ruled_out = True
    choices, questions = list(question.choices), [question.open()]
    for choice in choices:  # grows: what a choice leaves open is asked at once
        chosen = choice.options(options)
        try:
            last = _interpret(contents, added, chosen)
        except NeedsChoice as refusal:
            follows = () if refusal.question is None else refusal.question.choices
            if refusal.question is not None and follows:
                questions.append(refusal.question.open())
            if len(choices) + len(follows) <= MOST_CHOICES:
                choices += [choice.followed_by(other) for other in follows]
            elif follows:
                candidates.append(
                    ReadingCandidate(options=chosen, option=choice.command, title=choice.title)
                )
            own = choice.changes.keys() & {"scores_key", "epoch"}  # as good as the others
            ruled_out &= refusal.code in RULED_OUT and not own
            continue
        candidates.append(_candidate(choice, chosen, last))
        follow = _doubt(last, contents, added, chosen)
        if follow is not None and follow.choices:
            questions.append(follow.open(f"If {choice.title}: "))
    alone = question.code == RefusalCode.UNDECIDED and len(candidates) == 1 < len(question.choices)
    if last is not None and alone and ruled_out and _doubt(last, contents, added, options) is None:
        text = f"{question.what}; read as {candidates[0].title}, as nothing else is possible"
        return replace(last, notices=(Notice(NoticeCode.KEYS_GUESSED, text), *last.notices))
    if last is not None:  # what rows may belong to can be said together with the answer
        seen = last.inspection
        inspection = replace(
            inspection,
            belonging=seen.belonging,
            group_columns=seen.group_columns,
            weight_columns=seen.weight_columns,
        )
    raise NeedsChoice(question, _open(inspection, candidates, questions))


def _interpret(
    contents: Contents, added: LabelAndTableFiles, options: ReadOptions
) -> InterpretedFile:
    """Read once, by names and values alone."""
    others, own = added.labels, added.options(options)
    roles: dict[str, str] | None = None
    chosen: SettledSplit | None = None
    try:
        refuse_detections(contents)
        # In this order: units before shapes, shapes before parts, since each
        # looks at what the one before has settled.
        contents = fractions(contents, divide=options.units is not Units.PERCENT)
        contents = scaled(contents, options.scale)
        contents = of_epoch(widened(contents), options)
        contents = _of_pairs(contents, options)
        layout = _lay_out(contents, others, own)
        joined: list[tuple[SplitArrays, tuple[Notice, ...]]]
        joined = [(part, ()) for part in layout.parts]
        if others is not None:
            rest = without_chosen(others, own)
            joined = [attach_labels(part, rest, own) for part in layout.parts]
        grouped = [attach_groups(part, added, options) for part, _ in joined]
        parts, dated = attach_dates([part for part, _ in grouped], added, layout.roles)
        parts, left_out = labelled(parts, options)
        roles = layout.roles
        prepared = united([_prepared(part, options, len(parts) > 1) for part in parts])
        split = choose_split({p.part.split: 0 for p in prepared})
        chosen = next(p for p in prepared if p.part.split == split)
        verdicts = [p.decide(options.scores) for p in prepared]
        # Parts of one file must be of one kind: logits in val and
        # probabilities in test are a mistake.
        splits = {p.part.split: JudgedSplit(p, v) for p, v in zip(prepared, verdicts, strict=True)}
        _refuse_mixed(splits)
        ready = splits[split]
        ask_one_hot(ready, options)
    except Refused as refusal:
        explanation = explained(contents, refusal) if chosen is None else refusal
        question = refusal if isinstance(refusal, Question) else None
        raise NeedsChoice(explanation, inspect(contents, roles, chosen), question) from None
    verdict = ready.verdict
    inspection = inspect(contents, layout.roles, chosen, verdict, describe(prepared, verdict))
    n_classes = 0 if ready.task is Task.MULTILABEL else len(ready.class_names)
    inspection, offers, offered = with_offers(
        inspection, chosen.part, added, layout.roles, n_classes
    )
    several = len(prepared) > 1
    notices = [*contents.notices, *layout.notices]
    if others is not None:
        notices += [Notice(n.code, f"label file: {n.text}") for n in others.notices]
    for item, (_, of_join), (_, of_groups) in zip(prepared, joined, grouped, strict=True):
        of_part = item.notices
        if several:  # with the name of the part in front
            of_part = tuple(replace(n, text=f"{item.part.split}: {n.text}") for n in of_part)
        of_scores = splits[item.part.split].verdict.notices
        notices += [*of_join, *of_groups, *of_part, *of_scores]
    if several:
        names = ", ".join(f"{p.part.split} ({len(p.scores):,})" for p in prepared)
        text = f"the file holds {names}; {split} is audited unless another is named"
        notices.append(Notice(NoticeCode.SPLIT_CHOSEN, text))
    splits, of_repeats = repeated(splits, offers)
    notices += [*dated, *left_out, *of_repeats, *offered]
    recipe = _recipe(options, verdict.kind, parts[0], contents, others, several=several)
    return InterpretedFile(splits, tuple(dict.fromkeys(notices)), inspection, recipe)


def _of_pairs(contents: Contents, options: ReadOptions) -> Contents:
    """Return the parts of a list of pairs, or its batches as one part, as the user says."""
    records = contents.table and contents.printed  # of JSON: each is a row, whatever it holds
    if contents.batches is None and options.pairs is not None:
        what = "The file holds no list that could be batches as well as parts"
        raise Refused("AMBIGUOUS_KEYS", what, "drop --pairs")
    if contents.batches is None or options.pairs is PairMeaning.PARTS or records:
        return contents
    if options.pairs is None:
        items, as_it_stands = "arrays", "one row for each array"
        if any(name.startswith(("val.", "test.")) for name in contents.entries):
            items, as_it_stands = "scores and labels", "parts, the last of them the test part"
        raise undecided(
            f"A list of {items}: batches of one part, or {as_it_stands}",
            ReadChoice("batches, joined one after the other", {"pairs": PairMeaning.BATCHES}),
            ReadChoice(as_it_stands, {"pairs": PairMeaning.PARTS}),
        )
    return replace(contents, entries=contents.batches, batches=None, table=False)


def _doubt(
    reading: InterpretedFile, contents: Contents, added: LabelAndTableFiles, options: ReadOptions
) -> Question | None:
    """Return what must be asked of a reading that its answers do not bear out."""
    ready = reading.audited
    if not ready.labelled:
        return None
    # What was assumed on thin grounds is tried the other way: if answers
    # then agree far better with labels, it is asked.
    guesses = [*ready.prepared.part.guesses, *ready.verdict.guesses]
    if ready.prepared.labels.by_name:  # labels that name the columns show them to be scores
        guesses = [g for g in guesses if "scores_key" not in g.choices[0].changes]
    guesses = [g for g in guesses if not _settled(g, options)]
    question = (
        turned_question(ready)
        or mapping_question(ready)
        or crossed_question(ready)
        or twice_question(ready)
    )
    if question is not None and not _settled(question, options):
        return _with_guesses(question, guesses)
    reached = skill(ready) if guesses else None
    if reached is None:
        return None
    for guess in guesses:
        rivals = []
        for choice in guess.choices[1:]:
            with suppress(Refused):
                rivals.append(_interpret(contents, added, choice.options(options)))
        skills = [skill(rival.audited) for rival in rivals]
        better = any(rival is not None and reached.far_below(rival) for rival in skills)
        if better or not reached.plausible:
            return _with_guesses(guess, [g for g in guesses if g is not guess])
    return None


def _with_guesses(question: Question, guesses: list[Question]) -> Question:
    """Let every choice also settle what else was assumed, so that no further question follows."""
    assumed = {name: value for g in guesses for name, value in g.choices[0].changes.items()}
    choices = [ReadChoice(c.title, {**assumed, **c.changes}) for c in question.choices]
    return undecided(question.what, *choices) if guesses and choices else question


def _settled(question: Question, options: ReadOptions) -> bool:
    """Whether the user has answered a question: by any of its options, or where none would."""
    if not question.choices:
        return options.scores is not None or options.classes is not None
    return any(
        all(getattr(options, name) not in (None, False) for name in choice.changes)
        for choice in question.choices
    )


def _candidates(
    question: Question, read: Callable[[ReadOptions], InterpretedFile], options: ReadOptions
) -> tuple[list[ReadingCandidate], list[OpenQuestion]]:
    """Return what may be chosen where nothing of a file could be read before, and all questions."""
    out, questions = [], [question.open()]
    for choice in question.choices:
        chosen = choice.options(options)
        try:
            out.append(_candidate(choice, chosen, read(chosen)))
        except NeedsChoice as follows:
            more = follows.inspection.candidates
            if not more:
                continue
            questions += follows.inspection.questions
            if len(out) + len(more) > MOST_CHOICES:
                more = (ReadingCandidate(options=chosen, option="", title=""),)
            out += [
                replace(
                    candidate,
                    title="; ".join(filter(None, (choice.title, candidate.title))),
                    option=f"{choice.command} {candidate.option}".strip(),
                )
                for candidate in more
            ]
        except Refused:
            continue
    return out, questions


def _open(
    inspection: Inspection, possible: list[ReadingCandidate], questions: list[OpenQuestion]
) -> Inspection:
    """Add what may be chosen; a recipe for such files holds only where the same is asked again."""
    if not possible:
        return inspection
    options = "|".join(candidate.option for candidate in possible)
    state = blake2b(f"{inspection.fingerprint}|{options}".encode(), digest_size=8)
    once = tuple(dict.fromkeys(questions))
    return replace(
        inspection,
        candidates=tuple(possible),
        questions=once if len(once) > 1 else (),
        fingerprint=state.hexdigest(),
    )


def _candidate(
    choice: ReadChoice, chosen: ReadOptions, reading: InterpretedFile
) -> ReadingCandidate:
    ready = reading.audited
    accuracy, error, of = consequences(ready) if ready.labelled else (None, None, "")
    return ReadingCandidate(
        options=chosen,
        option=choice.command,
        title=choice.title,
        example=example(ready),
        accuracy=accuracy,
        ece=error,
        ece_of=of,
        model=choice.model,
    )


def _lay_out(contents: Contents, others: Contents | None, options: ReadOptions) -> FileLayout:
    own = options
    if others is not None:
        # The options may name columns of the label file too: only those of this file count here.
        id_column = options.id_column if options.id_column in contents.entries else None
        own = replace(options, labels_key=None, id_column=id_column)
    need_labels = others is None and not options.unlabelled
    # Named arrays may be columns, one for each class, as a mapping of lists holds them.
    shapes = {entry.shape for entry in contents.entries.values()}
    columns = len(contents.entries) > 2 and len(shapes) == 1 and len(next(iter(shapes))) == 1
    if contents.named and columns and not contents.table:
        # Or they are parts: each names its own, which has one of scores and one of labels.
        by_part: dict[str | None, list[Role]] = {}
        for item in (name_entry(name, entry) for name, entry in contents.entries.items()):
            by_part.setdefault(item.split, []).append(item.role)
        each = {r.count(Role.SCORES) + r.count(Role.CONFIDENCE) for r in by_part.values()}
        each |= {roles.count(Role.LABELS) for roles in by_part.values()}
        if len(by_part) < 2 or None in by_part or each != {1}:
            contents = replace(contents, table=True)
    if not contents.table:
        return lay_out_arrays(contents, own, need_labels=need_labels)
    # Names of classes that a file of labels may give: its words, and its columns of 0 and 1.
    classes: set[str] = set()
    labels = {} if others is None else without_chosen(others, options).entries
    for name, entry in labels.items():
        if is_text(entry):
            classes |= words_in(entry)
        elif is_binary(entry):
            classes.add(name.strip().casefold())
    return lay_out_table(contents, own, need_labels=need_labels, classes=classes)


def _prepared(part: SplitArrays, options: ReadOptions, several: bool) -> SettledSplit:
    try:
        return prepare(part, options)
    except Refused as refusal:
        if not several:
            raise
        location = f"{part.split} part, {refusal.location}"
        placed = refusal.with_location(location)
        choices = refusal.choices if isinstance(refusal, Question) else ()
        raise Question(placed, choices) from refusal


def _refuse_mixed(splits: dict[str, JudgedSplit]) -> None:
    """Parts of one file have one kind of scores, one task and the same classes."""
    kinds = sorted({str(ready.verdict.kind) for ready in splits.values()})
    if len(kinds) > 1:
        what = f"The parts look like different kinds of scores: {', '.join(kinds)}"
        raise Refused("AMBIGUOUS_KEYS", what, "say what they are with --scores")
    first, *others = splits
    for other in others:
        reference, compared = splits[first], splits[other]
        structure = reference.task, reference.class_names
        if structure != (compared.task, compared.class_names):
            own, theirs = _described(reference), _described(compared)
            what = f"The {first} part is {own}, the {other} part {theirs}"
            remedy = "give all parts the same classes, or name one with --scores-key, --labels-key"
            raise Refused("CLASSES", what, remedy, compared.prepared.part.scores_name)


def _described(ready: JudgedSplit) -> str:
    names = ready.class_names
    return f"{ready.task} with {len(names)} classes ({listed(names)})"


def _recipe(
    options: ReadOptions,
    kind: ScoreKind,
    part: SplitArrays,
    contents: Contents,
    others: Contents | None,
    *,
    several: bool,
) -> ReadOptions:
    """Return the choices that give the same again; keys only where one key says it all."""
    names = contents.entries
    keys_suffice = part.scores_name in names and part.labels_name in names and others is None
    if not keys_suffice or contents.table or several:
        return replace(options, scores=kind)
    labels = part.labels_name
    judged = says_correct(set(words_of(labels)), names[labels]) or options.correct_key == labels
    return replace(
        options,
        scores=kind,
        scores_key=options.scores_key or part.scores_name,
        labels_key=options.labels_key or (None if judged else labels),
        correct_key=options.correct_key or (labels if judged else None),
    )
