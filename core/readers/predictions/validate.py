"""A part of a file as predictions: shapes, labels, kind of scores; every assumption is said."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, Int, empty, log_sigmoid, log_softmax, row_chunks
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import Members, Outcomes, Predictions, ScoreKind, Task
from core.readers.formats.contents import Entry, SplitArrays, id_text, is_binary, is_text
from core.readers.predictions.kinds import (
    DONE,
    NAMES,
    KindEvidence,
    KindVerdict,
    converted,
    could_be_bytes,
    decide,
    kinds_in,
    log_units,
    survey,
)
from core.readers.predictions.labels import (
    ANOTHER,
    ANY_CLASS,
    NO_ANSWER,
    WAYS,
    Classes,
    Labels,
    gap_choices,
    read_labels,
    with_gaps,
)
from core.readers.predictions.names import (
    aligned,
    counted,
    event_name,
    folded,
    listed,
    polarity,
    words_of,
)
from core.readers.predictions.result import (
    AnswersPerRow,
    Question,
    ReadChoice,
    ReadOptions,
    Uncertain,
    Units,
    undecided,
)

WIDE = 4  # times as many labels as rows: more likely the other way round
MANY_MEMBERS = 1_000  # more are no members of an ensemble
MANY_ROWS = 20  # from which a pattern in every row is no accident
YES_AND_NO = ({0, 1}, {1, 2}, {-1, 1})  # other numbers are of two classes among several
NO_MEMBERS = "none"  # of an ensemble: columns are classes
SUMS, PLAIN = 0.05, 0.9  # rows that about sum to one, and the share of answers among the labelled


@dataclass(frozen=True, kw_only=True)
class SettledSplit:
    """A part whose shapes and labels are settled; only the kind of scores is open."""

    part: SplitArrays  # where it comes from
    # (N, K) (N, L) or (N,) float, oriented so that rows are samples
    scores: npt.NDArray[np.floating]
    labels: Labels  # as numbers
    predicted: Int | None  # (N,), stated answers of a top-label file
    class_names: tuple[str, ...]  # names of the classes; empty when nothing names them
    shape: KindEvidence  # what the rule about kinds needs
    notices: tuple[Notice, ...]  # what was assumed so far
    units: Units | None = None

    def decide(self, declared: ScoreKind | None) -> KindVerdict:
        """Return what the scores are; see `core.readers.predictions.kinds.decide`."""
        hint = self.part.kind
        if self.units is not None:
            separate = self.shape.multilabel or self.shape.columns == 1
            possible = kinds_in(self.units, separate=separate)
            if declared is not None and declared not in possible:
                what = f"Scores in these units ({self.units}) are not {declared}"
                remedy = "drop --units or --scores"
                raise Refused("PROB_RANGE", what, remedy, self.part.scores_name)
            # A name that says logits speaks of something else, where these are none.
            hint = possible[0] if len(possible) == 1 or hint not in possible else hint
        verdict = decide(declared, hint, self.shape)
        if self.units is None:
            return verdict
        text = f"scores of {self.part.scores_name} are {DONE.get(self.units, NAMES[self.units])}"
        notice = Notice(NoticeCode.UNITS, text)
        return replace(verdict, notices=(notice, *verdict.notices))

    def task(self, kind: ScoreKind) -> Task:
        """Return what kind of answer a row holds, once the kind of scores is known."""
        if self.shape.top_label:
            return Task.TOP_LABEL
        if self.shape.multilabel or (self.labels.one_hot and kind is ScoreKind.SIGMOID):
            return Task.MULTILABEL
        return Task.BINARY if self.shape.columns in (1, 2) else Task.MULTICLASS


def prepare(part: SplitArrays, options: ReadOptions) -> SettledSplit:
    """Resolve orientation and labels of a part and survey its scores.

    Raises Refused DTYPE, EMPTY, CLASSES, LENGTH_MISMATCH, LABEL_..., NONFINITE, AMBIGUOUS_KEYS.
    """
    if options.unlabelled:  # the answers, or zeros, stand for the labels
        stand_in = np.zeros(len(part.scores) if part.scores.ndim else 0, np.int64)
        part = replace(part, labels=stand_in if part.predicted is None else part.predicted)
    # In this order: one set of scores, known labels, rows as samples, then the shapes are compared.
    part, member_notices = _of_members(_in_declared_order(part, options), options)
    assert part.labels is not None
    part, uncertain_notices = _certain(part, options)
    assert part.labels is not None
    scores, labels, notices = _oriented(part, part.labels)
    _check_shape(scores, labels, part, options)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    columns = 1 if scores.ndim == 1 else scores.shape[1]
    if part.predicted is not None:
        if options.classes is not None:
            what = "Classes were named for columns, and the file holds one confidence a row"
            remedy = "drop --classes, or give the scores of all classes"
            raise Refused("CLASSES", what, remedy, part.scores_name)
        predicted, settled, names = _top_label(part, labels)
    else:
        predicted = None
        classes = _classes(part, columns, options)
        masked = labels.ndim == 2 and bool(uncertain_notices)
        settled = _labels_of(labels, classes, part, options, masked=masked)
        # The file's own names of classes, else those that were given or stand in labels.
        own_names = part.class_names if len(part.class_names) > 1 else ()
        numbered = all(polarity(name) is None and name.isdecimal() for name in classes.names)
        shown = own_names if classes.declared and numbered else settled.names
        names = shown or classes.names
    both, values = f"{part.scores_name} and {part.labels_name}", settled.values
    if len(scores) != len(values):
        what = f"The scores have {counted(len(scores), 'row')}, the labels {len(values)}"
        raise Refused("LENGTH_MISMATCH", what, "give one label for each row", both)
    if values.ndim == 2 and values.shape != scores.shape:
        what = f"Scores are {scores.shape} and labels {values.shape}"
        raise Refused("LENGTH_MISMATCH", what, "give one 0/1 label for each score", both)
    for column in (part.groups, part.weights, part.members):
        if column is not None and len(column.of_row) != len(scores):
            rows = counted(len(scores), "row")
            what = f"The scores have {rows}, {column.name} has {len(column.of_row)}"
            raise Refused("LENGTH_MISMATCH", what, f"give one {column.name} for each row")
    numbers = _floats(scores)
    _ask_percent(part, options, settled)
    # Logarithms to base 2 or 10 whose powers sum to one cannot be logits.
    units = options.units
    if units is None and numbers.ndim == 2 and settled.values.ndim == 1:
        units = log_units(numbers)  # all that values alone show: logarithms to another base than e
    if units is not None:
        separate = settled.values.ndim == 2 or columns == 1
        numbers = converted(numbers, units, part.scores_name, separate=separate)
    coarse = part.contents.coarse.get(part.scores_name, 0.0)
    score_survey = survey(numbers, row_name=part.row, printed=part.contents.printed, coarse=coarse)
    multilabel = settled.values.ndim == 2
    ranged = units is None and score_survey.low >= 0.0 and 1.0 < score_survey.high <= 255.0
    as_bytes = ranged and could_be_bytes(numbers)
    shape = KindEvidence(
        name=part.scores_name,
        survey=score_survey,
        columns=columns,
        multilabel=multilabel,
        one_hot=settled.one_hot,
        top_label=predicted is not None,
        unlabelled=options.unlabelled,
        bytes=as_bytes,
        log_of_one=(columns == 1 or multilabel) and "log" in words_of(part.scores_name),
    )
    if options.scores is None and predicted is None and not multilabel:
        _refuse_undeclared(numbers, part)
    all_notices = () if options.unlabelled else (*notices, *settled.notices)
    all_notices = (*member_notices, *uncertain_notices, *all_notices)
    return SettledSplit(
        part=part,
        scores=numbers,
        labels=settled,
        predicted=predicted,
        class_names=names,
        shape=shape,
        notices=all_notices,
        units=units,
    )


def _in_declared_order(part: SplitArrays, options: ReadOptions) -> SplitArrays:
    """Return a part whose named columns stand in the order in which the user names them all."""
    declared, own = options.class_list(), [folded(name) for name in part.class_names]
    keys = [folded(name) for name in declared]
    named = part.contents.table and part.scores.ndim == 2 and not all(k.isdigit() for k in keys)
    if not named or keys == own or sorted(keys) != sorted(own) or len(set(own)) < len(own):
        return part
    order = [own.index(key) for key in keys]
    return replace(part, scores=part.scores[:, order], class_names=declared)


def _labels_of(
    labels: Entry, classes: Classes, part: SplitArrays, options: ReadOptions, *, masked: bool
) -> Labels:
    """Return labels as numbers; rows of 0/1 as the user says, one class each or any number of them.

    A refusal of blank or uncertain ones offers what they may count as; where they are `masked`,
    that was said.

    Raises Refused: as of `read_labels`; CLASSES: the user says otherwise than the labels.
    """
    try:
        if masked:
            read = Labels(np.asarray(labels, np.int64))
        else:
            read = read_labels(labels, classes, part.row)
    except Refused as refusal:
        choices = gap_choices(labels) if labels.ndim == 1 else ()
        if not choices or (isinstance(refusal, Question) and refusal.choices):
            raise
        raise Question(refusal, choices) from None
    if options.answers is AnswersPerRow.MANY and read.one_hot:
        return Labels(np.asarray(labels, dtype=np.int64))
    if options.answers is AnswersPerRow.ONE and read.values.ndim == 2:
        what = "Rows of labels hold none or several classes, and one was said to be true"
        raise Refused("CLASSES", what, "say --answers many, or give one class for each row")
    if options.answers is AnswersPerRow.ONE:
        return replace(read, one_hot=False)
    if options.answers is AnswersPerRow.MANY and read.values.ndim == 1:
        what = "Any number of classes was said to be true, and each row has one label"
        raise Refused("CLASSES", what, "give 0/1 labels for each column")
    return read


def _classes(part: SplitArrays, columns: int, options: ReadOptions) -> Classes:
    """Return what is known of the columns, after checking that names are as many as these."""
    declared = options.class_list()
    names, most = declared or part.class_names, max(2, columns)
    if options.unlabelled and not declared and len(names) not in {most, columns}:
        return Classes(columns=columns)
    if names and len(names) not in {most, columns}:
        origin = "--classes names" if declared else "the file names"
        what = f"{origin} {len(names)} classes ({listed(names)})"
        what += f", and there are {counted(columns, 'column')} of scores"
        raise Refused("CLASSES", what, "give every column its class, and no others")
    return Classes(
        columns=columns,
        names=names if len(names) > 1 else (),
        declared=bool(declared),
        by_column=part.contents.table,
        stated=part.stated,
        event=event_name(part.scores_name) if part.stated and columns == 1 else "",
    )


def _ask_percent(part: SplitArrays, options: ReadOptions, labels: Labels) -> None:
    """Ask of fractions under a header that says percent: 0.5 may be a half of one in 100."""
    name = part.scores_name
    several = labels.values.ndim == 2  # columns that do not sum to one; named by the first and last
    names = name.split(" .. ") if several else [name]
    if part.contents.below_one.issuperset(names) and not (options.units or options.scores):
        fractions = part.kind or (ScoreKind.SIGMOID if several else ScoreKind.PROBABILITIES)
        raise undecided(
            f"{name} says percent, and no value is above 1",
            ReadChoice("percent: divided by 100", {"units": Units.PERCENT}),
            ReadChoice("fractions", {"scores": fractions}),
        )


def _refuse_undeclared(scores: npt.NDArray[np.floating], part: SplitArrays) -> None:
    """Refuse what only looks like scores: decisions, and the sorted first of a longer row."""
    if len(scores) < MANY_ROWS:
        return
    blocks = [scores[rows] for rows in row_chunks(len(scores), max(1, scores[0].size))]
    # Hard decisions would be audited as a model that is always certain.
    varied = scores.min() < scores.max() or scores.ndim == 1
    if varied and all(np.all((b == 0) | (b == 1)) or np.all(np.abs(b) == 1) for b in blocks):
        each = f"{scores.min():g}" + (" or 1" if scores.min() < scores.max() else "")
        what = f"Every score is {each}: decisions, which state no confidence"
        choice = ReadChoice(
            "probabilities, all of them 0 or 1", {"scores": ScoreKind.PROBABILITIES}
        )
        remedy = "give the scores behind the decisions, or say --scores probabilities"
        choices = (choice,) if scores.min() == 0 else ()
        raise Question(Refused("DTYPE", what, remedy, part.scores_name), choices)
    if scores.ndim != 2 or scores.shape[1] < 3:
        return
    # Sorted rows are top-k lists without their classes: column 0 would always be the answer.
    falls = all(bool(np.all(np.diff(block, axis=1) <= 0)) for block in blocks)
    rises = all(bool(np.all(np.diff(block, axis=1) >= 0)) for block in blocks)
    if falls != rises:  # both where every column has the same score, which is told elsewhere
        what = "The scores of every row are sorted, so columns are ranks and not classes"
        remedy = "give all classes in one order that is the same for every row"
        kind = ScoreKind.LOGITS if scores.min() < 0 else ScoreKind.PROBABILITIES
        choice = ReadChoice(
            "classes in one order, which every row happens to follow", {"scores": kind}
        )
        raise Question(Refused("CLASSES", what, remedy, part.scores_name), (choice,))


def _of_members(part: SplitArrays, options: ReadOptions) -> tuple[SplitArrays, tuple[Notice, ...]]:
    """Return a part with one set of scores, where it has one for each member of an ensemble.

    Of one event members have (M, N) or (N, M) scores, else (M, N, K) or (N, M, K).

    Raises Refused UNDECIDED: nobody said which are meant. CLASSES: there is no such member.
    """
    scores, labels = part.scores, part.labels
    no_members = options.members == NO_MEMBERS and scores.ndim == 2
    if labels is None or scores.ndim not in (2, 3) or is_text(scores) or no_members:
        return part, ()
    # The axis that the labels do not explain is that of the members.
    at = [axis for axis in (0, 1) if scores.shape[1 - axis] == len(labels) != scores.shape[axis]]
    if len(at) != 1 or not 1 < scores.shape[at[0]] <= MANY_MEMBERS:
        return part, ()
    members = np.moveaxis(scores, at[0], 0)
    of_event = scores.ndim == 2
    if of_event and not _of_event(members, part, options):
        return part, ()
    count, name = len(members), part.scores_name
    if options.members is None:
        what = f"{name} has shape {scores.shape}: an ensemble of {count}, or {count} passes"
        choices = [
            ReadChoice(f"the mean probabilities of all {count}", {"members": "mean"}),
            ReadChoice("the first alone", {"members": "1"}),
        ]
        if of_event:
            what += f" of one event; or {count} classes"
            classes = ReadChoice(f"{count} classes", {"members": NO_MEMBERS})
            if _in_unit(scores):  # one against the rest: rows do not sum to one
                says = {"members": NO_MEMBERS, "units": Units.SUM}
                classes = ReadChoice(f"{count} classes, divided by the sum of their row", says)
            choices.append(classes)
        raise undecided(what, *choices)
    if options.members != "mean":
        number = int(options.members) if options.members.isdecimal() else 0
        if not 1 <= number <= count:
            what = f"--members is {options.members[:20]!r}, and {name} has {count}"
            raise Refused("CLASSES", what, f"say mean, or a number from 1 to {count}", name)
        return replace(part, scores=members[number - 1]), ()
    hint = options.scores or part.kind
    wide = members.astype(np.float64)
    logits = hint is ScoreKind.LOGITS or (hint is None and not _in_unit(wide))
    # Any number of the columns may be true in a row, so that each speaks for itself.
    many = labels.ndim == 2 and labels.shape[1] > 1 and options.answers is not AnswersPerRow.ONE
    if many and options.answers is None and is_binary(labels):
        many = not np.all(labels.astype(np.int64).sum(axis=1) == 1)
    separate = of_event or wide.shape[2] == 1 or many
    # A member differs where it is on another side of one half, or answers another class.
    # Probabilities are averaged, never logits: the mean of logits is another model.
    mean: Float
    if separate and logits:  # log-odds of the mean probability
        true, false = (np.logaddexp.reduce(log_sigmoid(x), axis=0) for x in (wide, -wide))
        mean, differ = true - false, (wide > 0.0) != (true > false)
    elif separate:
        mean = wide.mean(axis=0)
        differ = (wide > 0.5) != (mean > 0.5)
    else:
        if logits:
            wide = np.exp(log_softmax(wide.reshape(-1, wide.shape[-1])).reshape(wide.shape))
        mean = wide.mean(axis=0)
        differ = wide.argmax(axis=2) != mean.argmax(axis=1)
        mean = np.log(mean) if logits else mean
    if separate and mean.shape[1:] == (1,):
        mean = mean[:, 0]
    of_row = np.moveaxis(_floats(members[..., None] if of_event else members), 0, 1)
    part = replace(part, members=Members(name or "scores", of_row), scores=mean)
    text = f"the mean probabilities of the {count} members of {name} are audited, and the members"
    text += " are kept with the run; on average a member gives another answer than the mean in"
    unit = "answers" if separate else "rows"
    notice = Notice(NoticeCode.MEMBERS_AVERAGED, f"{text} {100.0 * differ.mean():.1f} % of {unit}")
    return replace(part, kind=ScoreKind.LOGITS) if logits else part, (notice,)


def _of_event(members: Entry, part: SplitArrays, options: ReadOptions) -> bool:
    """Whether (M, N) scores may be of M members, each of one event, and not of M classes."""
    labels = part.labels
    if labels is None or labels.size != len(labels) or part.contents.table or len(members) < 3:
        return False
    if members.dtype.kind not in "fiu" or len(set(id_text(labels.reshape(-1)).tolist())) != 2:
        return False
    if options.members is not None:
        return True
    if part.class_names or options.classes is not None or len(labels) < MANY_ROWS:
        return False
    if not is_text(labels) and {*labels.reshape(-1).tolist()} not in YES_AND_NO:
        return False
    wide = members.astype(np.float64)
    if _in_unit(wide):
        return not np.all(np.abs(wide.sum(axis=0) - 1.0) < SUMS)
    return bool(np.mean(wide.argmax(axis=0) < 2) <= PLAIN)  # else only classes of labels are said


def _in_unit(scores: Entry) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1)


def _certain(part: SplitArrays, options: ReadOptions) -> tuple[SplitArrays, tuple[Notice, ...]]:
    """Return a part in which labels of findings that are blank or -1 count as the user says.

    Left out, they are -1 in a matrix, and their rows are gone where there is one finding.

    Raises Question UNDECIDED: nobody said.
    """
    labels, single = part.labels, part.labels is not None and part.labels.ndim == 1
    if labels is None or labels.ndim > 2 or (single and options.uncertain is None):
        return part, ()
    numbers = with_gaps(labels)
    if numbers is None or part.predicted is not None:
        return part, ()
    blank, doubted = np.isnan(numbers), numbers == -1.0
    n_blank, n_doubted = int(blank.sum()), int(doubted.sum())
    # -1 and +1 without a 0 are the two classes of an SVM, and nothing is uncertain.
    signs = n_doubted and not (numbers == 0.0).any()
    if not n_blank + n_doubted or signs or not (numbers == 1.0).any():
        return part, ()
    counts = f"{counted(n_blank, 'label')} of {numbers.size:,} blank, {n_doubted:,} uncertain (-1)"
    if options.uncertain is None:
        raise undecided(counts, *WAYS)
    if options.uncertain is not Uncertain.LEAVE_OUT:
        value = 1.0 if options.uncertain is Uncertain.PRESENT else 0.0
        numbers = np.where(blank, 0.0, np.where(doubted, value, numbers))
        text = f"{counts}: counted as absent and as {options.uncertain}, in this order"
    elif single:
        rows = np.flatnonzero(~(blank | doubted))
        text = f"{counts}: {counted(numbers.size - rows.size, 'row')} of {part.labels_name}"
        text += " left out"
        part, numbers = part.take(part.split, rows), numbers[rows]
    else:
        numbers = np.where(blank, -1.0, numbers)
        text = f"{counts}: each left out of the numbers of its own finding"
    part = replace(part, labels=numbers.astype(np.int64))
    return part, (Notice(NoticeCode.UNCERTAIN, text),)


def labelled(
    parts: list[SplitArrays], options: ReadOptions
) -> tuple[list[SplitArrays], tuple[Notice, ...]]:
    """Return parts without the findings that some part has no label of, in rows of any weight.

    Raises Refused LABEL_NOT_INTEGER: none is left.
    """
    shapes = {part.labels.shape[1:] for part in parts if part.labels is not None}
    together = len(shapes) == 1 and all(
        p.labels is not None and p.labels.ndim == 2 and p.labels.shape == p.scores.shape
        for p in parts
    )
    if options.uncertain is not Uncertain.LEAVE_OUT or not together:
        return parts, ()
    named: dict[str, Bool] = {}  # which findings are known in some row that counts
    for part in parts:
        numbers = None if part.labels is None else with_gaps(part.labels)
        counts = slice(None) if part.weights is None else part.weights.of_row > 0.0
        known = np.ones(part.scores.shape[1], dtype=np.bool_)
        if numbers is not None:
            known = np.asarray((numbers[counts] >= 0.0).any(axis=0))
        named[part.split] = known
    # A finding is audited only if each part knows some of its labels.
    has = np.logical_and.reduce(list(named.values()))
    if has.all():
        return parts, ()
    if not has.any():
        what = "No finding has a label of 0 or 1" + (" in every part" if len(parts) > 1 else "")
        raise Refused("LABEL_NOT_INTEGER", what, "give labels of at least one finding")
    names = parts[0].class_names if len(parts[0].class_names) == has.size else ()
    gone = [names[k] if names else f"finding {k}" for k in np.flatnonzero(~has).tolist()]
    lacking = [split for split, own in named.items() if not own[~has].any()]
    place = f" in the {lacking[0]} part" if len(parts) > 1 and lacking else ""
    text = f"{listed(gone)} without any label{place}: {len(gone)} of {has.size} not audited"
    cut = [
        replace(
            part,
            scores=part.scores[:, has],
            labels=None if part.labels is None else part.labels[:, has],
            class_names=tuple(n for n, k in zip(names, has, strict=True) if k) if names else (),
        )
        for part in parts
    ]
    return cut, (Notice(NoticeCode.UNCERTAIN, text),)


def _oriented(part: SplitArrays, labels: Entry) -> tuple[Entry, Entry, tuple[Notice, ...]]:
    """Make rows samples: an array with one column for each label was stored the other way."""
    scores = part.scores
    if labels.ndim == 2 and labels.shape[0] == 1 and labels.size == scores.shape[0] > 1:
        labels = labels.reshape(-1)
    if part.contents.table or scores.ndim != 2 or labels.ndim == 0:
        return scores, labels, ()
    rows, columns = scores.shape
    # scikit-learn and PyTorch have samples in rows; MATLAB often in columns.
    if labels.shape == (columns, rows) and rows != columns:
        # Shapes mirror each other: samples are many.
        name = part.labels_name if rows > columns else part.scores_name
        text = f"{part.scores_name} is {rows} x {columns} beside {part.labels_name} of"
        text += f" {columns} x {rows}; {name} was transposed"
        notices = (Notice(NoticeCode.ORIENTATION, text),)
        return (scores, labels.T, notices) if rows > columns else (scores.T, labels, notices)
    if labels.shape == (rows, columns) and rows < columns and _one_hot_columns(labels):
        text = f"{part.scores_name} and {part.labels_name} are {rows} x {columns}: columns are"
        text += " samples; both were transposed"
        return scores.T, labels.T, (Notice(NoticeCode.ORIENTATION, text),)
    if rows != len(labels) == columns:
        text = f"{part.scores_name} is {rows} x {columns} with {columns} labels: columns are"
        text += " samples; it was transposed"
        return scores.T, labels, (Notice(NoticeCode.ORIENTATION, text),)
    if rows == columns:
        text = f"{part.scores_name} is {rows} x {columns}: rows were taken as samples"
        return scores, labels, (Notice(NoticeCode.ORIENTATION, text),)
    return scores, labels, ()


def _one_hot_columns(labels: Entry) -> bool:
    """Whether 0/1 labels hold one 1 in each column, and not in each row."""
    if not is_binary(labels):
        return False
    numbers = labels.astype(np.int64)
    return bool(np.all(numbers.sum(axis=0) == 1) and not np.all(numbers.sum(axis=1) == 1))


def _check_shape(scores: Entry, labels: Entry, part: SplitArrays, options: ReadOptions) -> None:
    """Refuse what is no table of numbers, a row for each sample and a column for each class."""
    if not part.contents.table and scores.shape == labels.shape and scores.ndim == 2:
        # Columns of many labels may look like the samples
        rows, columns = scores.shape
        what = f"{part.scores_name} and {part.labels_name} are {rows} x {columns}"
        remedy = "transpose them, so that each row is a sample"
        if rows == columns and _one_hot_columns(labels):
            what += ", with one 1 in each column of labels and not in each row"
            raise Refused("CLASSES", what, remedy, part.labels_name)
        wide = WIDE * rows < columns and options.answers is None
        if wide and not np.all(labels.sum(axis=1) == 1):
            title = f"{rows} samples of {columns} labels"
            what += ": few samples of very many labels, or the other way round"
            refusal = Refused("CLASSES", what, f"{remedy}, or say --answers many", part.labels_name)
            raise Question(refusal, (ReadChoice(title, {"answers": AnswersPerRow.MANY}),))
    location = part.scores_name
    if is_text(scores) or scores.dtype.kind == "b":
        what = f"The scores are {'text' if is_text(scores) else 'truth values'}, not numbers"
        raise Refused("DTYPE", what, "give logits or probabilities, not decisions", location)
    if scores.ndim not in (1, 2):
        what = f"Scores of shape {scores.shape}, expected (rows, classes)"
        raise Refused("CLASSES", what, "give one row of scores for each sample", location)
    if scores.size == 0:
        what = f"No scores: shape {scores.shape}"
        raise Refused("EMPTY", what, "give at least one row of scores", location)
    undeclared = options.scores is None and options.units is None
    if scores.ndim == 2 and scores.shape[1] == 1 and undeclared:
        if part.kind is not ScoreKind.LOGITS and scores.min() >= 0 and scores.max() <= 1:
            return  # what a network with one output and a sigmoid gives
        what = f"One column of scores (shape {scores.shape}), expected at least 2"
        remedy = "give all classes, or declare a binary score with --scores"
        choices = [ReadChoice("log-odds of class 1", {"scores": ScoreKind.LOGITS})]
        if scores.max() <= 0:
            choices.insert(
                0, ReadChoice("natural logarithms of a probability", {"units": Units.LN})
            )
        raise Question(Refused("CLASSES", what, remedy, location), tuple(choices))


def _floats(scores: Entry) -> npt.NDArray[np.floating]:
    """Whole numbers become floats that hold them exactly; floats stay as they are."""
    if scores.dtype.kind == "f":
        return scores  # type: ignore[return-value]
    return scores.astype(np.float32 if scores.dtype.itemsize <= 2 else np.float64)


def _top_label(part: SplitArrays, labels: Entry) -> tuple[Int, Labels, tuple[str, ...]]:
    """Answers and labels share one set of classes: numbers, or names in alphabetical order."""
    assert part.predicted is not None
    if part.predicted.size != labels.size:
        what = f"The answers have {counted(part.predicted.size, 'row')}, the labels {labels.size}"
        raise Refused("LENGTH_MISMATCH", what, "give one label for each row", part.labels_name)
    both = [part.predicted.reshape(-1), labels.reshape(-1)]
    if not any(is_text(column) for column in both):
        classes = Classes(columns=ANY_CLASS)
        predicted, truth = (read_labels(column, classes, part.row).values for column in both)
        return predicted, Labels(truth), ()
    # Case, signs and the spelling of yes and no aside.
    cells = [[str(value).strip() for value in id_text(column).tolist()] for column in both]
    blank = next((i for i, cell in enumerate(cells[1]) if not cell), None)
    if blank is not None:
        what = "An empty label"
        raise Refused("LABEL_NOT_INTEGER", what, "fill in or remove the row", part.row(blank))
    notices: tuple[Notice, ...] = ()
    if "" in cells[0]:
        text = f"{counted(cells[0].count(''), 'answer')} of {len(cells[0])} empty: counted as wrong"
        notices = (Notice(NoticeCode.UNANSWERED, text),)
        cells[0] = [cell or NO_ANSWER for cell in cells[0]]
    spelled = {folded(cell): cell for column in cells[::-1] for cell in dict.fromkeys(column)}
    keys = aligned(*cells)
    # Answers and labels that share no name would all count as wrong.
    mine, theirs = (set(column) for column in keys)
    if len(keys[0]) >= MANY_ROWS and not mine & theirs and theirs != {folded(ANOTHER)}:
        what = f"Answers ({listed(sorted(mine))}) and labels ({listed(sorted(theirs))})"
        remedy = "write both alike"
        raise Refused("CLASSES", f"{what} have no name in common", remedy, part.labels_name)
    spelled |= {key: key for key in {*keys[0], *keys[1]} - spelled.keys()}  # 2 of LABEL_2
    order = sorted({*keys[0], *keys[1]}, key=lambda key: spelled[key])
    place = {key: index for index, key in enumerate(order)}
    predicted, truth = (np.array([place[k] for k in column], dtype=np.int64) for column in keys)
    return predicted, Labels(truth, notices=notices), tuple(spelled[key] for key in order)


def united(parts: list[SettledSplit]) -> list[SettledSplit]:
    """Give parts that state answers one set of classes, as each alone may lack some."""
    if not all(part.shape.top_label for part in parts):
        return parts
    all_names = sorted({name for part in parts for name in part.class_names})
    if all_names:  # a single class cannot be told from another one
        names = tuple(all_names) if len(all_names) > 1 else (*all_names, "other")
        at = {name: index for index, name in enumerate(names)}
        out = []
        for part in parts:
            place = np.array([at[name] for name in part.class_names], dtype=np.int64)
            if part.class_names:  # its classes in the order of `names`
                predicted, truth = (place[column] for column in _stated(part))
                labels = replace(part.labels, values=truth)
                part = replace(part, predicted=predicted, labels=labels, class_names=names)
            out.append(part)
        return out
    highest = max(int(column.max()) for part in parts for column in _stated(part))
    names = tuple(str(k) for k in range(max(2, highest + 1)))
    return [replace(part, class_names=names) for part in parts]


def _stated(part: SettledSplit) -> tuple[Int, Int]:
    assert part.predicted is not None
    return part.predicted, part.labels.values


@dataclass(frozen=True)
class JudgedSplit:
    """A part with the verdict about its scores: all that predictions need."""

    prepared: SettledSplit
    verdict: KindVerdict

    @property
    def task(self) -> Task:
        """What kind of answer a row holds."""
        return self.prepared.task(self.verdict.kind)

    @property
    def labels(self) -> Int:
        """(N,) classes, or (N, L) 0/1 for multilabel; -1 where there are none."""
        values = self.prepared.labels.values
        if not self.labelled:
            return np.full_like(values, -1)
        if self.task is Task.MULTILABEL and self.prepared.labels.one_hot:
            return np.eye(self.prepared.scores.shape[1], dtype=np.int64)[values]
        return values

    @property
    def labelled(self) -> bool:
        """Whether the rows belong to classes."""
        return not self.prepared.shape.unlabelled

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes: those of the file, else their numbers."""
        count = max(2, self.prepared.shape.columns)
        return self.prepared.class_names or tuple(str(k) for k in range(count))

    @property
    def row_ids(self) -> tuple[str, ...]:
        """Names of the rows; empty when there are none."""
        ids = self.prepared.part.ids
        return () if ids is None else tuple(str(i) for i in ids.tolist())

    def probabilities(self, rows: slice) -> Float:
        """Return what some rows say: of each class, or of each label; (n, K) float64."""
        block = self.prepared.scores[rows].astype(np.float64)
        kind, single = self.verdict.kind, block.ndim == 1
        if kind is ScoreKind.LOGITS:
            separate = single or self.task is Task.MULTILABEL
            block = np.exp(log_sigmoid(block) if separate else log_softmax(block))
        if single:
            return np.column_stack([1.0 - block, block])
        return block / block.sum(axis=1, keepdims=True) if self.verdict.renormalise else block

    def predictions(self) -> Predictions:
        """Return the predictions, checked."""
        return Predictions(
            self.task,
            self.verdict.kind,
            self.prepared.scores,
            self.labels,
            class_names=self.prepared.class_names,
            predicted=self.prepared.predicted,
            row_ids=self.row_ids,
            renormalise=self.verdict.renormalise,
            labelled=self.labelled,
            groups=self.prepared.part.groups,
            weights=self.prepared.part.weights,
            votes=self.prepared.part.votes,
            dates=self.prepared.part.dates,
            members=self.prepared.part.members,
        )


def answers(ready: JudgedSplit) -> Outcomes:
    """Return how sure each answer is and whether it is right; (N,), or (N x L,) for many labels."""
    prepared, labels = ready.prepared, ready.labels
    scores = prepared.scores
    if prepared.predicted is not None:
        return Outcomes(scores.astype(np.float64), prepared.predicted == labels)
    shape = scores.shape if labels.ndim == 2 else (len(scores),)
    correct, confidence = empty(shape, np.bool_), empty(shape)
    for rows in row_chunks(len(scores), prepared.shape.columns):
        probabilities = ready.probabilities(rows)
        if labels.ndim == 1 and scores.ndim == 2:  # exact ties, before any exponential
            correct[rows] = scores[rows].argmax(axis=1) == labels[rows]
            confidence[rows] = probabilities.max(axis=1)
        else:
            positive = probabilities if labels.ndim == 2 else probabilities[:, 1]
            correct[rows] = (positive > 0.5) == (labels[rows] == 1)
            confidence[rows] = np.maximum(positive, 1.0 - positive)
    if labels.ndim == 2 and ready.labelled:  # of many labels, some may be unknown
        known = labels >= 0
        confidence, correct = confidence[known], correct[known]
    return Outcomes(confidence.reshape(-1), correct.reshape(-1))
