"""Columns of a table as parts: ids, row numbers, labels, the split column, and which are scores."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np

from core.arrays import Bool
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import ScoreKind
from core.readers.formats.contents import (
    DEFAULT_SPLIT,
    Contents,
    Entry,
    FileLayout,
    SplitArrays,
    id_text,
    is_text,
    stacked,
    text_array,
)
from core.readers.formats.text import MISSING, NUMBERS, is_number, refuse_text, words_in
from core.readers.predictions.labels import (
    AS_CONFIDENCE,
    below_half,
    check_agreement,
    is_unit_list,
    judged_part,
    kind_of_answered,
    label_matrix,
    margin_question,
    upper_answer,
)
from core.readers.predictions.names import (
    MARGINS,
    SPLITS,
    Role,
    ambiguous,
    bare_name,
    class_at,
    class_names,
    common_prefix,
    correctness,
    counts_up,
    folded,
    is_summary,
    key_of,
    listed,
    logits_of_two,
    meanings,
    model_groups,
    name_entry,
    paired,
    paired_columns,
    stated_word,
    with_shared_start,
    without_shared_end,
    words_of,
)
from core.readers.predictions.result import (
    SPLIT_NAME,
    ReadChoice,
    ReadOptions,
    Units,
    join_names,
    undecided,
)
from core.readers.tables.table_roles import (
    TableColumns,
    ask_parts,
    find_ids,
    find_index,
    find_labels,
    find_named_scores,
    find_split,
    last_of_fractions,
    last_that_sum_to_one,
    pick_scores,
    refuse_long,
    resolve_answers,
    resolve_scores,
    says_correctness,
    sum_to_one,
)

LOGITS = ScoreKind.LOGITS
MOST_CANDIDATES = 8
SUMMARY = {"max", "top", "pred", "predicted", "true", "answer", "confidence"}


def stated_column(columns: TableColumns) -> str | None:
    """Return the column of confidences in the answer given; None where scores are of classes."""
    answers, correct = columns.of(Role.PREDICTED), columns.of(Role.CORRECT)
    confidence, scores = columns.of(Role.CONFIDENCE), columns.of(Role.SCORES)
    flat = [n for n in scores if columns.entries[n].ndim == 1]
    # A confidence is of an answer: without one it can only be a class's probability.
    if not answers and not correct:
        return None
    if columns.options.scores in (LOGITS, ScoreKind.PROBABILITIES, ScoreKind.SIGMOID):
        return None
    sure = bool(confidence) and len(scores) == len(flat) < 2
    single = confidence[:1] if sure else flat
    if not columns.listed.get(Role.SCORES):
        single = single or [n for n in columns.numbers() if is_unit_list(columns.entries[n])]
    if len(single) != 1 or (len(scores) > 1 and not sure):
        return None
    entry = columns.entries[single[0]]
    if columns.options.units is Units.PERCENT and not is_text(entry):
        entry = entry.astype(np.float64) / 100.0
    if columns.options.scores is ScoreKind.CONFIDENCE or (sure and not is_unit_list(entry)):
        return single[0]
    if not is_unit_list(entry):
        return None
    labels = columns.of(Role.LABELS)
    if not answers:
        if labels and not sure:  # scores of a class, and whether its sign was right
            return None
        if not sure and below_half(entry):
            what = f"{single[0]} goes below one half, as no confidence in one of two answers does"
            raise undecided(what, AS_CONFIDENCE)
        return single[0]
    truth = columns.entries[labels[0]] if len(labels) == 1 else None
    judged = bool(correct) and not labels  # what a score could be the probability of, is not here
    if sure and (judged or not below_half(entry)):
        return single[0]
    kind = kind_of_answered(single[0], entry, columns.entries[answers[0]], truth, named=sure)
    return single[0] if kind is ScoreKind.CONFIDENCE else None


def stated_part(columns: TableColumns, part: SplitArrays, labels: list[str]) -> SplitArrays:
    """Return a part of stated confidences, with labels or with whether each answer was right."""
    answers, correct = columns.of(Role.PREDICTED), columns.of(Role.CORRECT)
    columns.set_role([part.scores_name], Role.CONFIDENCE)
    predicted = columns.entries[answers[0]] if answers else None
    if correct and (not labels or predicted is None or columns.options.correct_key is not None):
        columns.set_role(labels, Role.UNUSED)
        right = correctness(correct[0], columns.entries[correct[0]])
        if right is None:
            what = f"{correct[0]} holds more than two values, or others than 0/1, True/False"
            raise ambiguous(what, "give a column of 0 and 1 with --correct-key")
        return replace(judged_part(part, right, predicted), labels_name=correct[0])
    if (
        len(labels) == 1
        and correct
        and predicted is not None
        and columns.options.labels_key is None
    ):
        right = correctness(correct[0], columns.entries[correct[0]])
        check_agreement(predicted, (labels[0], columns.entries[labels[0]]), (correct[0], right))
    return replace(
        part,
        kind=ScoreKind.CONFIDENCE,
        predicted=predicted,
        labels=labels_of(columns, labels, [], ()) if labels else None,
        labels_name=listed(labels),
    )


def scored_part(columns: TableColumns, base: SplitArrays, labels: list[str]) -> SplitArrays:
    """Return the part with its scores of classes, or of one class, and their labels.

    Raises Refused AMBIGUOUS_KEYS, UNDECIDED, DTYPE, NONFINITE: no scores, several sets of them, or
    text.
    """
    scores = columns.of(Role.SCORES) or columns.of(Role.CONFIDENCE) or _unnamed(columns, labels)
    if not scores:
        names = listed(list(columns.entries))
        raise ambiguous(
            f"No column of scores was found; columns: {names}", "name them with --scores-key"
        )
    for name in scores:
        refuse_text(name, columns.entries[name], columns.contents)
    # Three ways in which one file says the same twice are cleared before classes are counted.
    scores = _without_copies(columns, scores, labels)
    scores = _of_one_model(columns, _of_one_form(columns, scores), labels)
    # A column called like the scores that is empty would leave a class out.
    kind = name_entry(scores[0], columns.entries[scores[0]]).kind
    if len(scores) > 1 and kind is not None and columns.options.scores_key is None:
        start = common_prefix(scores)
        end = common_prefix([name[::-1] for name in scores])[::-1]
        for name in columns.of(Role.UNUSED):
            entry = columns.entries[name]
            blank = is_text(entry) and entry.ndim == 1 and not np.any(entry != "")
            alike = (start and name.startswith(start)) or (end and name.endswith(end))
            if blank and alike and name_entry(name, NUMBERS).kind is kind:
                what = f"Column {name} is called like the scores and is empty"
                remedy = "fill it in (in a workbook: let its formulas be computed), or remove it"
                raise Refused("NONFINITE", what, remedy, f"column {name}")
    columns.set_role(scores, Role.SCORES)
    named = len(scores) > 1 and columns.contents.headed
    classes = tuple(class_names(scores)) if named else ()
    if named and len(labels) == 1 and is_text(columns.entries[labels[0]]):
        # Without a shared end, as of one model, or with a shared start where labels say so.
        words = {folded(cell) for cell in columns.entries[labels[0]].tolist()}
        forms = (classes, without_shared_end(classes), *with_shared_start(scores, classes))
        fitting = (form for form in forms if words <= {folded(word) for word in form})
        classes = tuple(next(fitting, classes))
    free = columns.options.scores_key is None and columns.options.classes is None
    # Of yes and no in this order the columns are turned: the event is the second of two classes.
    if free and len(labels) < 2 and meanings(classes) == [1, 0]:
        scores, classes = scores[::-1], classes[::-1]
    matrix = columns.entries[scores[0]] if len(scores) == 1 else _stack(columns, scores)
    some = set(scores)
    kinds = {item.kind for item in columns.named if item.name in some}
    single = len(scores) == 1 and matrix.ndim == 1
    if columns.options.scores is None and set(words_of(scores[0])) & MARGINS:
        raise margin_question(scores[0])
    stated = ""  # the class that a single column is of, by its name or by the answers
    if single and columns.contents.headed:
        stated, answers = stated_word(scores[0]), columns.of(Role.PREDICTED)
        if answers and len(labels) == 1:
            truth = sorted(set(id_text(columns.entries[labels[0]]).tolist()))
            if class_at(stated, truth) is None:
                upper = upper_answer(columns.entries[scores[0]], columns.entries[answers[0]])
                stated = upper or stated
    return replace(
        base,
        scores=matrix,
        scores_name=scores[0] if len(scores) == 1 else f"{scores[0]} .. {scores[-1]}",
        kind=kinds.pop(),
        class_names=classes,
        stated=stated,
        labels=labels_of(columns, labels, scores, classes) if labels else None,
        labels_name=listed(labels),
    )


def _without_copies(columns: TableColumns, scores: list[str], labels: list[str]) -> list[str]:
    """Leave out a set of scores that repeats another, as tables of MLflow do with every output."""
    flat = all(columns.entries[name].ndim == 1 for name in scores)
    if not flat or len(labels) > 1 or sum_to_one(columns.entries, scores):
        return scores
    first: dict[bytes, list[str]] = {}
    for name in scores:
        first.setdefault(columns.entries[name].tobytes(), []).append(name)
    if len({len(names) for names in first.values()}) > 1 or len(first) == len(scores):
        return scores
    kept = [names[0] for names in first.values()]
    copies = [name for name in scores if name not in kept]
    columns.set_role(copies, Role.UNUSED)
    text = f"{listed(copies)} repeat {listed(kept)}"
    columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, text))
    return kept


def _of_one_form(columns: TableColumns, scores: list[str]) -> list[str]:
    """Return one set of scores where columns say the same twice: as logits, lists, or a summary."""
    lists = [n for n in scores if columns.entries[n].ndim == 2]
    if len(lists) == 1 and len(scores) > 1:
        rest = [n for n in scores if n not in lists]
        if all(is_summary(columns.entries[n], columns.entries[lists[0]]) for n in rest):
            columns.set_role(rest, Role.UNUSED)
            return lists
    # Some columns say again how large the largest score is, or that of one class.
    rest = [n for n in scores if not set(words_of(n)) & SUMMARY]
    if len(rest) < len(scores) and sum_to_one({n: columns.entries[n] for n in rest}, rest):
        columns.set_role([n for n in scores if n not in rest], Role.UNUSED)
        scores = rest
    by_kind: dict[ScoreKind | None, list[str]] = {}
    some = set(scores)
    for item in columns.named:
        if item.name in some:
            by_kind.setdefault(item.kind, []).append(item.name)
    if len(by_kind) == 1 and (len(scores) == 1 or not lists):
        return scores
    pair = by_kind.keys() in ({LOGITS, ScoreKind.PROBABILITIES}, {LOGITS, ScoreKind.SIGMOID})
    if not pair:
        raise undecided(
            f"Columns of several kinds: {listed(scores)}",
            *(
                ReadChoice(f"scores in {listed(names)}", {"scores_key": join_names(names)})
                for names in by_kind.values()
            ),
        )
    groups = {listed(group): (kind, group) for kind, group in by_kind.items() if kind is not None}
    chosen = logits_of_two(
        {name: kind for name, (kind, _) in groups.items()},
        {
            name: columns.entries[group[0]] if len(group) == 1 else _stack(columns, group)
            for name, (_, group) in groups.items()
        },
        {name: key_of(group, list(columns.entries)) for name, (_, group) in groups.items()},
    )
    used = groups[chosen][1]
    rest = [n for n in scores if n not in used]
    columns.set_role(rest, Role.UNUSED)
    text = f"{listed(rest)} say the same as {listed(used)}, which were read"
    columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, text))
    return used


def _of_one_model(columns: TableColumns, scores: list[str], labels: list[str]) -> list[str]:
    """Ask which model is meant where names are those of several models, each with all classes."""
    if columns.options.scores_key is not None or len(scores) < 2:
        return scores
    numbers = {n: columns.entries[n] for n in scores}
    classes = {folded(name) for name in class_names(scores)}
    words = {folded(word) for word in columns.classes}
    named = len(labels) > 1 and paired_columns(scores, labels) is not None
    if named or classes <= words or sum_to_one(numbers, scores):
        return scores
    _ask_models(columns, scores)
    # Each column may also be one model's score of the same two classes.
    if len(labels) == 1 and columns.entries[labels[0]].ndim == 1:
        truth = sorted(set(id_text(columns.entries[labels[0]]).tolist()))
        meant = all(class_at(name, class_names(scores)) is not None for name in truth)
        separate = all(is_unit_list(columns.entries[n]) for n in scores)
        if len(truth) == 2 and not meant and not counts_up(scores) and separate:
            _refuse_many(scores)
            choices = (ReadChoice(f"scores of {n}", {"scores_key": n}, n) for n in scores)
            what = f"Labels have two classes, and {listed(scores)} do not sum to one"
            raise undecided(f"{what}: one model each", *choices)
    return scores


def _ask_models(columns: TableColumns, scores: list[str]) -> None:
    """Ask which model is meant where names are made of a model and a class."""
    numbers = {n: columns.entries[n] for n in scores}
    if any(not is_unit_list(entry) for entry in numbers.values()) and not columns.of(Role.SCORES):
        return  # of columns without a name for scores, only what is like probabilities
    splits = list(model_groups(scores))
    exclusive = [
        groups for groups in splits if all(sum_to_one(numbers, g) for g in groups.values())
    ]
    labels = columns.of(Role.LABELS)
    count = len(set(id_text(columns.entries[labels[0]]).tolist())) if len(labels) == 1 else 0
    named = splits if columns.of(Role.SCORES) else []
    fitting = [g for g in named if {len(group) for group in g.values()} == {count}]
    groups = next(iter((*exclusive, *fitting)), None)
    if groups is None:
        return
    keys = {name: key_of(group, list(columns.entries)) for name, group in groups.items()}
    _refuse_many(list(groups))
    raise undecided(
        f"The columns look like those of {len(groups)} models: {listed(list(groups))}",
        *(ReadChoice(f"scores of {name}", {"scores_key": keys[name]}, name) for name in groups),
    )


def _refuse_many(models: list[str]) -> None:
    if len(models) > MOST_CANDIDATES:
        what = f"The columns look like those of {len(models)} models: {listed(models)}"
        raise ambiguous(what, "name the columns of one with --scores-key")


def _unnamed(columns: TableColumns, labels: list[str]) -> list[str]:
    """Columns of numbers that no name calls scores."""
    numbers = {name: columns.entries[name] for name in columns.numbers()}
    lists = [n for n in columns.of(Role.UNUSED) if columns.entries[n].ndim == 2]
    if len(lists) == 1 and not is_text(columns.entries[lists[0]]):
        return lists
    if not numbers or not columns.contents.headed:
        last = last_that_sum_to_one(numbers) or last_of_fractions(numbers)
        return last or list(numbers)
    words = {name.casefold() for name in class_names(labels)} if len(labels) > 1 else set()
    for name in labels if len(labels) == 1 else []:
        words |= words_in(np.unique(columns.entries[name]))
    if columns.options.scores_key is None:
        _ask_models(columns, list(numbers))
    scores, named = pick_scores(numbers, columns.classes | words)
    if not named:
        columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, f"scores from {listed(scores)}"))
        choice = ReadChoice(f"scores in {listed(scores)}", {"scores_key": join_names(scores)})
        columns.guesses.append(undecided(f"No name says that {listed(scores)} hold scores", choice))
    return scores


def _stack(columns: TableColumns, names: list[str]) -> Entry:
    return stacked([columns.entries[n] for n in names])


def labels_of(
    columns: TableColumns, labels: list[str], scores: list[str], classes: tuple[str, ...]
) -> Entry:
    """One column as it is; several as a matrix, in the order of the scores they are named after."""
    if len(labels) == 1:
        return columns.entries[labels[0]]
    chosen = match_labels(labels, scores, classes, listed_by_user=bool(columns.options.labels_key))
    columns.set_role([name for name in labels if name not in chosen], Role.UNUSED)
    return label_matrix({name: columns.entries[name] for name in chosen})


def match_labels(
    labels: list[str], scores: list[str], classes: tuple[str, ...], *, listed_by_user: bool = False
) -> list[str]:
    """Return columns of labels in the order of the scores.

    They pair by name. Positions count only where one side has no names but numbers, or where
    the user listed the columns.

    Raises Refused AMBIGUOUS_KEYS, CLASSES: another number of them, or names that do not pair.
    """
    places = paired_columns(scores, labels)
    if places is None and classes:
        places = paired(classes, class_names(labels))
    if places is not None:
        return [labels[place] for place in places]
    by_name = {folded(bare_name(name)): name for name in labels}
    keys = [folded(bare_name(name)) for name in scores]
    if len(by_name) == len(labels) > len(scores) > 0 and set(keys) <= set(by_name):
        return [by_name[name] for name in keys]
    if len(labels) != len(scores):
        raise ambiguous(
            f"{len(labels)} columns of labels ({listed(labels)}) for {len(scores)} of scores",
            "name one with --labels-key",
        )
    strange = [name for name in labels if folded(bare_name(name)) not in keys]
    # By order, where no name could contradict it.
    if not classes or counts_up(scores) or (listed_by_user and strange == labels):
        return labels  # a list of names of which some pair and some do not is no order
    if counts_up(labels):
        choice = ReadChoice("labels in the order of the scores", {"labels_key": join_names(labels)})
        what = f"{listed(labels)} only count, and scores are named {listed(classes)}"
        raise undecided(what, choice)
    what = f"Columns of labels do not pair with those of scores by name: {listed(strange)}"
    remedy = "name them alike, or list them in the order of the scores with --labels-key"
    raise Refused("CLASSES", f"{what}; scores are {listed(scores)}", remedy)


DATAROBOT = "_PREDICTION"


def resolve_tools(columns: TableColumns, classes: set[str]) -> None:
    """Resolve roles in tables of timm, DataRobot and Orange; `classes` are those of the labels.

    Raises Question UNDECIDED: Orange wrote scores and answers of several models.
    """
    _resolve_timm(columns, classes)
    # Forest, a column of answers, with Forest (cat) and Forest (dog), as Orange writes
    models: dict[str, list[str]] = {}
    for name in columns.of(Role.UNUSED, Role.LABELS, Role.PREDICTED):
        entry = columns.entries[name]
        if not is_text(entry) or entry.ndim != 1:
            continue
        # Orange names scores by model and class: Forest (cat).
        cuts = {n: re.fullmatch(re.escape(name) + r" \((.+)\)", n) for n in columns.entries}
        named = {n: folded(cut[1]) for n, cut in cuts.items() if cut}
        numbers = all(is_unit_list(columns.entries[n]) for n in named)
        words = {folded(cell) for cell in entry.tolist()}
        if len(named) > 1 and numbers and words <= set(named.values()):
            models[name] = list(named)
    chosen = {name for names in columns.listed.values() for name in names}
    columns.set_role([name for name in models if name not in chosen], Role.PREDICTED)
    if columns.listed:
        return
    # churn_yes_PREDICTION, ... and churn_PREDICTION of DataRobot: the answer; churn is the truth
    predictions = [n for n in columns.entries if n.endswith(DATAROBOT)]
    for answer in predictions:
        target = answer.removesuffix(DATAROBOT)
        scores = [n for n in predictions if n != answer]
        if not scores or not all(n.startswith(f"{target}_") for n in scores):
            continue
        if target in columns.entries:
            columns.set_role(columns.of(Role.LABELS), Role.UNUSED)
            columns.set_role([target], Role.LABELS)
        columns.set_role([answer], Role.PREDICTED)
        columns.set_role(scores, Role.SCORES)
        break
    _resolve_sas(columns)
    if len(models) > 1:
        choices = [
            ReadChoice(f"scores of {n}", {"scores_key": join_names(some), "prediction_key": n}, n)
            for n, some in models.items()
        ]
        what = f"Scores and answers of {len(models)} models: {listed(list(models))}"
        raise undecided(what, *choices)
    for scores in models.values():
        columns.set_role(scores, Role.SCORES)


def _resolve_sas(columns: TableColumns) -> None:
    """F_died, I_died, P_died1, P_died0: from, into and probabilities of SAS Enterprise Miner."""
    truths = {n[2:].casefold(): n for n in columns.entries if n.startswith("F_")}
    for target, truth in truths.items():
        levels = {folded(cell) for cell in id_text(columns.entries[truth]).tolist()}
        levels = {f"p_{target}{level}" for level in levels}
        called = [n for n in columns.entries if n.casefold().startswith(f"p_{target}")]
        other = [t for t in truths if t.startswith(target) and t != target]
        called = [n for n in called if not n[2:].casefold().startswith(tuple(other))]
        named = [n for n in called if folded(n) in {folded(level) for level in levels}]
        scores = named if len(named) > 1 else called
        into = [n for n in columns.entries if n.casefold() in (f"i_{target}", f"u_{target}")]
        if len(scores) > 1 and into:
            taken = columns.of(Role.SCORES, Role.LABELS, Role.PREDICTED)
            columns.set_role(taken, Role.UNUSED)
            columns.set_role([truth], Role.LABELS)
            columns.set_role(into, Role.PREDICTED)
            columns.set_role(scores, Role.SCORES)
            return


def _resolve_timm(columns: TableColumns, classes: set[str]) -> None:
    """Timm's inference lists filename, label or index, and score: that label is the answer.

    Both name the same answer; `classes`, those of the labels, say which of them does it alike.
    Of several ranks, label_0 and prob_0 are the answer and its confidence.
    """
    ranked: dict[str, list[str]] = {}
    for name in columns.entries:
        stem = re.fullmatch(r"(?i)(index|label|class|prob|score)_?(\d)", name)
        if stem and int(stem[2]) == len(ranked.get(stem[1].lower(), [])):
            ranked.setdefault(stem[1].lower(), []).append(name)
    sure = next((names for stem, names in ranked.items() if stem in ("prob", "score")), [])
    by_rank = [names for stem, names in ranked.items() if stem not in ("prob", "score")]
    numbers = [columns.entries[n] for n in sure if not is_text(columns.entries[n])]
    flat = [np.asarray(entry.astype(np.float64)) for entry in numbers]
    # Ranks: each probability at most the one before.
    falls = all(bool(np.all(a >= b)) for a, b in pairwise(flat))
    if (
        1 < len(flat) == len(sure)
        and falls
        and by_rank
        and all(len(n) == len(sure) for n in by_rank)
    ):
        columns.set_role([n for names in (sure, *by_rank) for n in names], Role.UNUSED)
        columns.set_role(sure[:1], Role.CONFIDENCE)
        columns.set_role(by_rank[-1][:1], Role.PREDICTED)
        return
    names = {name.lower() for name in columns.entries}
    if "filename" not in names or not names <= {"filename", "index", "label", "prob", "logit"}:
        return
    answers = [n for n in columns.entries if n.lower() in ("index", "label")]
    if answers and len(names & {"prob", "logit"}) == 1:
        answers.sort(key=lambda n: not words_in(id_text(columns.entries[n])) & classes)
        columns.set_role(answers[:1], Role.PREDICTED)
        columns.set_role(answers[1:], Role.UNUSED)
        columns.set_role([n for n in columns.entries if n.lower() in ("prob",)], Role.CONFIDENCE)


MAX_PARTS = 12


def lay_out_table(
    contents: Contents, options: ReadOptions, *, need_labels: bool, classes: set[str]
) -> FileLayout:
    """Return the parts of a table.

    `need_labels` says that no second file brings the labels; `classes` are names that such a file
    gives to classes, in folded case.

    Raises Refused AMBIGUOUS_KEYS or CSV_COLUMNS: no scores, no labels, or several of them.
    """
    columns = TableColumns(contents, options, classes)
    answered = _answered(columns)
    if answered is not None:
        rows, contents = answered
        layout = lay_out_table(contents, options, need_labels=need_labels, classes=classes)
        text = f"{len(rows) - int(rows.sum())} of {len(rows)} rows hold neither answer nor"
        text += " confidence: wrong answers, but without a claim to audit, so left out"
        return replace(
            layout,
            parts=tuple(
                p.take(p.split, np.flatnonzero(rows if p.rows is None else rows[p.rows]))
                for p in layout.parts
            ),
            notices=(Notice(NoticeCode.UNANSWERED, text), *layout.notices),
        )
    # Each step only looks at columns that those before have left: index and ids
    # first, or a row number could pass for a label.
    find_index(columns)
    find_ids(columns)
    refuse_long(columns)
    find_split(columns)
    resolve_tools(columns, classes)
    resolve_answers(columns)
    resolve_scores(columns, need_labels=need_labels)
    ask_parts(columns)
    if need_labels and not (says_correctness(columns) and stated_column(columns)):
        find_labels(columns)
    find_named_scores(columns)
    labels, ids = columns.of(Role.LABELS), columns.of(Role.IDS)
    part = SplitArrays(
        DEFAULT_SPLIT,
        np.empty(0),
        "",
        columns.contents,
        ids=id_text(columns.entries[ids[0]]) if ids else None,
    )
    stated = stated_column(columns)
    if stated is None:
        part = scored_part(columns, part, labels)
    else:
        part = replace(part, scores=columns.entries[stated], scores_name=stated)
        part = stated_part(columns, part, labels)
    parts = _by_split(columns, replace(part, guesses=tuple(columns.guesses)))
    roles = {item.name: str(item.role) for item in columns.named}
    unused = [i.name for i in columns.named if i.role in (Role.UNUSED, Role.ASIDE)]
    if unused:
        columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, f"not used: {listed(unused)}"))
    return FileLayout(parts, roles, tuple(columns.notices))


def _answered(columns: TableColumns) -> tuple[Bool, Contents] | None:
    """Return which rows hold an answer or a confidence, where some lack both; else None.

    In the contents 0.5 stands for each confidence that is missing.
    """
    sure, answers = columns.of(Role.CONFIDENCE), columns.of(Role.PREDICTED)
    if len(sure) != 1 or len(answers) != 1:
        return None
    entry, cells = columns.entries[sure[0]], _cells(columns.entries[answers[0]])
    if entry.ndim != 1 or entry.dtype.kind not in "fO":
        return None
    stated = _cells(entry)
    blank = np.array([not cell for cell in stated])
    if not blank.any() or blank.all() or any(c for c, b in zip(cells, blank, strict=True) if b):
        return None
    for name in columns.of(Role.CORRECT):  # right without an answer: it was not written down
        right = correctness(name, columns.entries[name])
        if right is not None and right[blank].any():
            return None
    stated = [cell or "0.5" for cell in stated]
    if not all(is_number(cell) for cell in stated):
        return None
    numbers = np.array([float(cell) for cell in stated])
    texts = text_array(cells) if "" in cells else columns.entries[answers[0]]
    entries = {**columns.entries, sure[0]: numbers, answers[0]: texts}
    return ~blank, replace(columns.contents, entries=entries)


def _cells(entry: Entry) -> list[str]:
    """Return cells as text; what is missing is empty."""
    cells = [str(cell).strip() for cell in id_text(entry).tolist()]
    return ["" if cell.casefold() in MISSING else cell for cell in cells]


def _by_split(columns: TableColumns, part: SplitArrays) -> tuple[SplitArrays, ...]:
    for name in columns.of(Role.SPLIT):
        words = [str(v).strip() for v in columns.entries[name].tolist()]
        names = {word: SPLITS.get(word.lower().replace(" ", ""), word) for word in words}
        if len(set(names.values())) < len(names):  # dev beside val: two parts, not one
            names = {word: word for word in words}
        names = {word: re.sub(r"[^\w-]+", "-", name) for word, name in names.items()}
        if not 0 < len(names) <= MAX_PARTS or not all(
            SPLIT_NAME.fullmatch(n) for n in names.values()
        ):
            continue  # too many for parts
        # Pooled folds are one part: each row was predicted once, by a model that had not seen it.
        if name.lower() == "fold" and not set(names.values()) & {"train", "val", "test"}:
            continue
        which = np.array([names[word] for word in words])
        order = [s for s in ("train", "val", "test") if s in names.values()]
        order += [s for s in dict.fromkeys(names.values()) if s not in order]
        return tuple(part.take(s, np.flatnonzero(which == s)) for s in order)
    return (part,)
