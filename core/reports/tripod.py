"""What a report of a clinical model answers of TRIPOD+AI, and what its authors must add.

Collins et al., TRIPOD+AI statement, BMJ 2024;385:e078378. Its topics are named in our own words
and without its numbers: the published checklist is the place to look those up.
"""

from core.metrics.records import Audit
from core.predictions import Task
from core.reports.document import Section, WrittenTable
from core.screens.kit.numbers import count
from core.screens.kit.units import spoken
from core.studies.clinic import Findings
from core.studies.report import RunNumbers

YOURS = "For you to write"
NOTE = (
    "Topics of the TRIPOD+AI statement (Collins et al., BMJ 2024;385:e078378), in our words. Item "
    "numbers are left out: take them from the published checklist. A filled row says where this "
    "report helps, not that the item is complete."
)
AUTHORS = (  # topics of which predictions and labels say nothing
    "Title and abstract",
    "Healthcare context, intended use and users",
    "Known health inequalities",
    "Where and when the data were collected",
    "Setting, eligibility and treatments",
    "How images and labels were prepared",
    "How the outcome was defined and assessed",
    "Predictors and their assessment",
    "How the sample size was chosen",
    "Missing data",
    "How the model was built and tuned",
    "Fairness and how it was examined",
    "Ethical approval",
    "Funding, conflicts of interest, protocol and registration",
    "Availability of data",
    "Patient and public involvement",
    "Flow and characteristics of participants",
    "Differences between development and evaluation data",
    "Interpretation and unmet needs in use",
)


def checklist(numbers: RunNumbers) -> Section:
    """Return the topics with what the report holds of each."""
    helped = [
        ("Participants and outcome events", _events(numbers)),
        ("Measures of performance, and why", "Discrimination, calibration and net benefit"),
        ("Performance with confidence intervals", _intervals(numbers.audit)),
        ("Performance in subgroups", "By finding; by patient group on the Chest X-ray page"),
        (f"Clusters of {spoken('images')}", _clusters(numbers)),
        ("Recalibration or updating of the model", _updating(numbers)),
        ("Class imbalance", "Scores were taken as they are; none was rebalanced"),
        ("Output of the model", f"{numbers.rows.kind}, one score a finding"),
        ("Availability of code", "Version and digest of the audit's code are in the settings"),
        ("Limitations", "Under the settings, for the audit alone"),
    ]
    rows = [*helped, *((topic, YOURS) for topic in AUTHORS)]
    return Section(
        key="checklist",
        title="TRIPOD+AI checklist",
        paragraphs=(NOTE,),
        tables=(WrittenTable("", ("topic", "in this report"), tuple(rows)),),
    )


def _events(numbers: RunNumbers) -> str:
    rows, clinical = numbers.rows, numbers.clinical
    if isinstance(clinical, Findings):
        few, many = min(clinical.events), max(clinical.events)
        return f"{count(rows.n)} {spoken('images')}; {count(few)} to {count(many)} with a finding"
    events = int((rows.labels == 1).sum()) if rows.task is Task.BINARY else 0
    return f"{count(rows.n)} {spoken('images')}, {count(events)} with the finding"


def _intervals(audit: Audit) -> str:
    scores = audit.main.metrics.values()
    level = next((score.level for score in scores if score.low is not None), None)
    return "None" if level is None else f"Every metric, {100 * level:g} % intervals"


def _clusters(numbers: RunNumbers) -> str:
    groups = numbers.rows.groups
    if groups is None:
        return spoken("Images were taken as independent. Name a column of groups if they are not")
    return f"Intervals draw whole groups by {groups.name}"


def _updating(numbers: RunNumbers) -> str:
    after = numbers.posthoc
    return YOURS if after is None else f"Calibrators, fitted on {after.rows.fit_name}"
