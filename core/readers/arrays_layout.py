"""Named arrays (npz, safetensors, pickles, JSON) as parts: which is which, split by split."""

from core.errors import Notice
from core.predictions import ScoreKind
from core.readers.contents import Contents, Entry, id_text, is_text
from core.readers.options import ReadOptions
from core.readers.parts import DEFAULT_SPLIT, Layout, Part, ambiguous, label_like, listed
from core.readers.roles import Named, Role, name_entry

Found = dict[Role, list[Named]]
ORDER = ("train", "val", "test")
NO_LABELS = "give a second file with --labels, or name the key with --labels-key"


def lay_out_arrays(contents: Contents, options: ReadOptions, *, need_labels: bool) -> Layout:
    """Return the parts of a set of named arrays.

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS: several arrays could be the scores or the labels, or none.
    """
    named = [name_entry(name, entry) for name, entry in contents.entries.items()]
    named = [_chosen(item, options) for item in named]
    _check_choice(named, options)
    by_split: dict[str | None, Found] = {}
    for item in named:
        by_split.setdefault(item.split, {}).setdefault(item.role, []).append(item)
    guessed: list[str] = []
    scored = [s for s in by_split if _score_names(by_split[s])]
    if not scored:
        by_split, scored = {None: _guess_scores(contents, named, guessed)}, [None]
    parts = [_part(contents, by_split, split, guessed, need_labels) for split in scored]
    roles = _roles(named, parts)
    ignored = {item.name for item in named if options.unlabelled and item.role is Role.LABELS}
    unused = [name for name, role in roles.items() if role == Role.UNUSED and name not in ignored]
    return Layout(_ordered(parts), roles, _notices(contents, unused, guessed))


def _chosen(item: Named, options: ReadOptions) -> Named:
    if item.name == options.scores_key:
        role = item.role if item.role is Role.CONFIDENCE else Role.SCORES
        return Named(item.name, role, item.kind, item.split)
    if item.name == options.labels_key:
        return Named(item.name, Role.LABELS, None, item.split)
    if item.name == options.id_column:
        return Named(item.name, Role.IDS, None, item.split)
    dropped = (item.role is Role.SCORES and options.scores_key) or (
        item.role is Role.LABELS and options.labels_key
    )
    return Named(item.name, Role.UNUSED, None, item.split) if dropped else item


def _check_choice(named: list[Named], options: ReadOptions) -> None:
    names = [item.name for item in named]
    choices = {
        "--scores-key": options.scores_key,
        "--labels-key": options.labels_key,
        "--id-column": options.id_column,
    }
    for option, key in choices.items():
        if key is not None and key not in names:
            raise ambiguous(
                f"{option} names {key!r}, which is not there", f"use one of {listed(names)}"
            )


def _score_names(found: Found) -> list[Named]:
    if Role.CONFIDENCE in found and Role.PREDICTED in found:
        return found[Role.CONFIDENCE]
    return found.get(Role.SCORES, [])


def _guess_scores(contents: Contents, named: list[Named], guessed: list[str]) -> Found:
    """No key names scores: one matrix of numbers beside one list of labels speaks for itself."""
    entries = contents.entries
    known = {item.name: item for item in named}
    matrices = [n for n, e in entries.items() if _is_matrix(e) and known[n].role is not Role.LABELS]
    if len(matrices) == 2:
        matrices = [m for m in matrices if not _zero_one(entries[m])] or matrices
    if len(matrices) != 1:
        what = (
            "no array of scores was found" if not matrices else f"scores may be {listed(matrices)}"
        )
        keys = listed(list(entries))
        raise ambiguous(f"{what}; keys: {keys}", "name the scores with --scores-key")
    found: Found = {}
    for item in named:
        found.setdefault(item.role, []).append(item)
    found[Role.SCORES] = [Named(matrices[0], Role.SCORES)]
    if contents.named:
        guessed.append(f"scores from {matrices[0]}")
    return found


def _is_matrix(entry: Entry) -> bool:
    return entry.ndim == 2 and not is_text(entry) and entry.dtype.kind != "b" and entry.shape[1] > 1


def _zero_one(entry: Entry) -> bool:
    return bool(((entry == 0) | (entry == 1)).all())


def _part(
    contents: Contents,
    by_split: dict[str | None, Found],
    split: str | None,
    guessed: list[str],
    need_labels: bool,
) -> Part:
    found, shared = by_split[split], by_split.get(None, {})
    candidates = _score_names(found)
    if len(candidates) > 1:
        names = [c.name for c in candidates]
        raise ambiguous(f"scores may be {listed(names)}", "name one with --scores-key")
    chosen = candidates[0]
    scores = contents.entries[chosen.name]
    top = chosen.role is Role.CONFIDENCE
    labels = _labels_name(contents, by_split, split, chosen.name, guessed) if need_labels else None
    classes = _first(contents, shared, Role.CLASS_NAMES)
    ids = _first(contents, found, Role.IDS)
    return Part(
        split or DEFAULT_SPLIT,
        scores,
        chosen.name,
        contents,
        labels=None if labels is None else contents.entries[labels],
        labels_name=labels or "",
        kind=ScoreKind.CONFIDENCE if top else chosen.kind,
        predicted=_first(contents, found, Role.PREDICTED) if top else None,
        ids=None if ids is None else id_text(ids),
        class_names=() if classes is None else tuple(classes.tolist()),
    )


def _first(contents: Contents, found: Found, role: Role) -> Entry | None:
    items = found.get(role, [])
    return contents.entries[items[0].name] if len(items) == 1 else None


def _labels_name(
    contents: Contents,
    by_split: dict[str | None, Found],
    split: str | None,
    scores: str,
    guessed: list[str],
) -> str:
    own = by_split[split].get(Role.LABELS, [])
    scored = [s for s, found in by_split.items() if _score_names(found)]
    if not own and len(scored) == 1:  # a lone part may take labels that name another split or none
        own = [item for found in by_split.values() for item in found.get(Role.LABELS, [])]
    elif split is None and len(scored) > 1:
        raise ambiguous(
            f"several arrays of scores and no split named for {scores}",
            "name one with --scores-key, and its labels with --labels-key",
        )
    if len(own) == 1:
        return own[0].name
    if len(own) > 1:
        raise ambiguous(
            f"labels may be {listed([o.name for o in own])}", "name one with --labels-key"
        )
    if len(scored) > 1:
        what = f"no labels for the {split} part ({scores})"
        raise ambiguous(what, "name one part with --scores-key and --labels-key")
    return _guess_labels(contents, by_split, scores, guessed)


def _guess_labels(
    contents: Contents, by_split: dict[str | None, Found], scores: str, guessed: list[str]
) -> str:
    lengths = set(contents.entries[scores].shape[:2])
    taken = {
        item.name
        for found in by_split.values()
        for role, items in found.items()
        for item in items
        if role in (Role.IDS, Role.CLASS_NAMES, Role.PREDICTED)
    }
    free = {n: e for n, e in contents.entries.items() if n != scores and n not in taken}
    like = [n for n, e in free.items() if label_like(e, lengths)]
    like = like or [n for n, e in free.items() if e.shape == contents.entries[scores].shape]
    if len(like) == 1:
        guessed.append(f"labels from {like[0]}")
        return like[0]
    what = "no labels were found" if not like else f"labels may be {listed(like)}"
    raise ambiguous(f"{what}; keys: {listed(list(contents.entries))}", NO_LABELS)


def _ordered(parts: list[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda p: ORDER.index(p.split)))


def _roles(named: list[Named], parts: list[Part]) -> dict[str, str]:
    roles = {item.name: str(item.role) for item in named}
    used = {p.scores_name for p in parts} | {p.labels_name for p in parts}
    for name, role in roles.items():
        if role in (Role.SCORES, Role.LABELS) and name not in used:
            roles[name] = str(Role.UNUSED)
    for part in parts:
        if part.kind is not ScoreKind.CONFIDENCE:
            roles[part.scores_name] = str(Role.SCORES)
        if part.labels_name:
            roles[part.labels_name] = str(Role.LABELS)
    return roles


def _notices(contents: Contents, unused: list[str], guessed: list[str]) -> tuple[Notice, ...]:
    said = list(guessed)
    if unused and contents.named:
        said.append(f"not used: {listed(unused)}")
    return (Notice("KEYS_GUESSED", "; ".join(said)),) if said else ()
