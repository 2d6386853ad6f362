"""Tables to CSV for spreadsheets: raw numbers, and text that cannot turn into a formula."""

import csv
import io

from core.screens.kit.records import Table

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(table: Table) -> str:
    """Return the table as CSV with the keys of its columns as header.

    Numbers are written in full, fractions as fractions; missing ones are empty. Text that a
    spreadsheet would evaluate gets an apostrophe in front, also behind leading spaces.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    rows = ([guarded(c) if isinstance(c, str) else c for c in row] for row in table.rows)
    writer.writerows(rows)
    return out.getvalue()


def guarded(text: str) -> str:
    """Return text with an apostrophe in front where a spreadsheet would evaluate it."""
    risky = text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS)
    return f"'{text}" if risky else text
