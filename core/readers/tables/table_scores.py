"""Which columns of a table are scores, of what, and how columns of labels go with them."""

from dataclasses import replace

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import ScoreKind
from core.readers.formats.cells import NUMBERS, refuse_text, words_in
from core.readers.formats.contents import Entry, id_text, is_text, stacked
from core.readers.predictions.labels import label_matrix
from core.readers.predictions.names import (
    bare_name,
    class_at,
    class_names,
    common_prefix,
    counts_up,
    folded,
    meanings,
    paired,
    paired_columns,
    stated_word,
    with_shared_start,
    without_shared_end,
)
from core.readers.predictions.options import ReadChoice, Units, join_names, undecided
from core.readers.predictions.parts import SplitArrays, ambiguous, listed
from core.readers.predictions.roles import MARGINS, Role, correctness, name_entry, words_of
from core.readers.predictions.score_sets import is_summary, key_of, logits_of_two, model_groups
from core.readers.predictions.stated_confidence import (
    AS_CONFIDENCE,
    below_half,
    check_agreement,
    is_unit_list,
    judged_part,
    kind_beside_answer,
    margin_question,
    upper_answer,
)
from core.readers.tables.table_columns import (
    TableColumns,
    last_of_fractions,
    last_that_sum_to_one,
    pick_scores,
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
    kind = kind_beside_answer(single[0], entry, columns.entries[answers[0]], truth, named=sure)
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

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS, UNDECIDED, DTYPE, NONFINITE: no scores, several sets of them, or text.
    """
    scores = columns.of(Role.SCORES) or columns.of(Role.CONFIDENCE) or _unnamed(columns, labels)
    if not scores:
        names = listed(list(columns.entries))
        raise ambiguous(
            f"No column of scores was found; columns: {names}", "name them with --scores-key"
        )
    for name in scores:
        refuse_text(name, columns.entries[name], columns.contents)
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
    if free and len(labels) < 2 and meanings(classes) == [1, 0]:  # the second is the event
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

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS, CLASSES: another number of them, or names that do not pair.
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
    if not classes or counts_up(scores) or (listed_by_user and strange == labels):
        return labels  # a list of names of which some pair and some do not is no order
    if counts_up(labels):
        choice = ReadChoice("labels in the order of the scores", {"labels_key": join_names(labels)})
        what = f"{listed(labels)} only count, and scores are named {listed(classes)}"
        raise undecided(what, choice)
    what = f"Columns of labels do not pair with those of scores by name: {listed(strange)}"
    remedy = "name them alike, or list them in the order of the scores with --labels-key"
    raise Refused("CLASSES", f"{what}; scores are {listed(scores)}", remedy)
