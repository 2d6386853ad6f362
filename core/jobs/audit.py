"""AuditSpec: everything that decides the audit of a file or folder as a job; no torch.

For predictions that are too many to wait for: a folder of shards, or a large file. The program is
`core.commands.audit_job`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final

from core import codec, fields
from core.arrays import digest
from core.configs import AuditConfig
from core.errors import UsageError
from core.fields import Field, JsonObject, is_path
from core.jobs.records import SlurmRequest
from core.readers.predictions.result import ReadOptions
from core.readers.tables.votes import VoteChoice
from core.training.config import MAX_NAME
from core.training.folder import JobFolder

AUDIT: Final = "audit"
READING, MEASURING, WRITING = STAGES = (
    "Reading the files",
    "Computing every metric",
    "Writing the scores",
)
REMEDY: Final = "give the path of a file or a folder"


@dataclass(frozen=True, kw_only=True)
class AuditSpec:
    """Everything that decides an audit.

    Raises UsageError SETTING: a value out of range.
    """

    kind: ClassVar = AUDIT
    devices: ClassVar = 1
    device: ClassVar = "cpu"

    # The file, or the folder of shards; absolute, for the job runs elsewhere
    path: Annotated[str, Field("Path", allows=is_path, remedy=REMEDY)]
    # What the run is called; empty for the name of the file
    name: Annotated[str, Field("Name", length=MAX_NAME)] = ""
    # A file of labels
    labels: Annotated[str | None, Field("Labels", allows=is_path, remedy=REMEDY)] = None
    # Files in which the columns of ``group`` and ``weight`` are
    tables: Mapping[str, str] = field(default_factory=dict)
    options: ReadOptions = field(default_factory=ReadOptions)  # how the file is read
    split: str | None = None  # what is audited; the reader chooses without
    # A file of the votes of people, with which the run is compared and kept
    votes: Annotated[str | None, Field("Votes", allows=is_path, remedy=REMEDY)] = None
    vote_choice: VoteChoice = field(default_factory=VoteChoice)  # what is said of that file
    config: AuditConfig = field(default_factory=AuditConfig)  # how it is audited

    def __post_init__(self) -> None:
        """Refuse settings out of range, naming the value."""
        if not self.name:
            path = Path(self.path)
            object.__setattr__(self, "name", (path.stem or path.name)[:MAX_NAME])
        fields.check(self)

    def to_json(self) -> JsonObject:
        """Return plain JSON; `from_json` gives an equal spec back."""
        return codec.to_json(self)

    @property
    def digest(self) -> str:
        """Digest of all that decides the numbers, which the name does not."""
        decides = {key: value for key, value in self.to_json().items() if key != "name"}
        return digest(repr(sorted(decides.items())))


def from_json(data: object) -> AuditSpec:
    """Return the spec in plain JSON; UsageError SETTING."""
    return codec.read(AuditSpec, data)


def spec_of(folder: JobFolder) -> AuditSpec:
    """Return what an audit is of; UsageError SETTING or JOB."""
    return from_json(folder.spec())


def check_request(request: SlurmRequest) -> None:
    """Refuse what an audit cannot use of a cluster; UsageError DEVICE."""
    if request.gpus or request.nodes > 1:
        what = f"{request.nodes} nodes with {request.gpus} GPUs each are wanted for an audit"
        raise UsageError("DEVICE", what, "request 1 node and 0 GPUs")
