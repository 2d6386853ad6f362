"""What is left out of a newsgroup message, and the addresses that no page shows; no torch."""

import re
from typing import Final

FOOTER_LINES: Final = 15  # at the end of a message, in which a rule begins a signature
SIGNATURE_LINES: Final = 6  # of a last paragraph that holds an address
RULE: Final = re.compile(r"\s*[-_=*~+#/|]{2,}\s*")
QUOTED: Final = re.compile(r"\s*(?:(?:[A-Za-z]{1,4}\s?)?>|[|:}])")
ANNOUNCED: Final = re.compile(
    r"\s*in article\s*<|.*\b(?:writes|wrote|says|said)\s*(?:\.{3}|:)\s*$", re.IGNORECASE
)
# Each begins where a run of its characters does, so that a long run is looked through once.
MAIL: Final = re.compile(
    r"(?<![\w.+%=!/-])[\w.+%=!/-]+@[\w-]+(?:\.[\w-]+)*|(?<![\w.-])[\w.-]+(?:![\w.-]+){2,}"
)
NUMBER: Final = re.compile(r"(?<![\w.])[+(]?\d[\d ()./-]{6,30}\d(?!\w)")
# Spaces, and what hides text or turns its direction.
BLANK: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f]+")
SHOWN: Final = 400  # characters of a text on a page
LONGEST_MASKED: Final = 100_000  # characters that are looked through for addresses


def without_headers(message: str) -> str:
    """Return a message less its headers: all up to the first empty line."""
    head, gap, body = message.partition("\n\n")
    return body if gap else head


def without_quotes_and_footer(body: str) -> str:
    """Return the body of a message less quotes and signature.

    Parameters
    ----------
    body : str

    Returns
    -------
    str
        Less lines that begin with ``>``, ``|``, ``:`` or ``}``, or with ``>`` after up to four
        letters as in ``JD>``; less lines that announce a quote, because they begin with "In
        article <" or end in "writes:" or "wrote:"; less what follows the last line of two or more
        marks such as ``-`` or ``=`` among the last FOOTER_LINES, and a last paragraph of at most
        SIGNATURE_LINES lines that holds an address, unless it is the only one.
    """
    lines = [line for line in body.split("\n") if not (QUOTED.match(line) or ANNOUNCED.match(line))]
    while lines and not lines[-1].strip():
        lines.pop()
    start = max(0, len(lines) - FOOTER_LINES)
    rules = [k for k in range(start, len(lines)) if RULE.fullmatch(lines[k])]
    if rules:
        lines = lines[: rules[-1]]
    return "\n".join(_without_signature(lines)).strip()


def _without_signature(lines: list[str]) -> list[str]:
    """Return the lines less a short last paragraph with an address."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    begin = next((k + 1 for k in range(len(lines) - 1, -1, -1) if not lines[k].strip()), 0)
    last = lines[begin:]
    if begin and len(last) <= SIGNATURE_LINES and any(MAIL.search(line) for line in last):
        return lines[:begin]
    return lines


def masked(text: str) -> str:
    """Return a text with mail addresses and telephone numbers masked, for people to read.

    Only the first LONGEST_MASKED characters come back.
    """
    return NUMBER.sub("[number]", MAIL.sub("[address]", text[:LONGEST_MASKED]))


def shown(text: str) -> str:
    """Return a text as a page shows it: on one line, addresses masked, cut to SHOWN characters."""
    line = BLANK.sub(" ", masked(text)).strip()
    return line if len(line) <= SHOWN else f"{line[:SHOWN].rstrip()} …"
