"""The numbers used when nobody says otherwise, each with its source; imports nothing."""

from typing import Final

N_BINS: Final = 15  # Mukhoti et al. 2020, section 5; every paper of the family reports 15 bins
N_BINS_MIN: Final = 5
N_BINS_MAX: Final = 50
LEVEL: Final = 0.95  # of every interval
LEVEL_MIN: Final = 0.01
LEVEL_MAX: Final = 0.9999  # closer to 1, no number of resamples that is allowed has such tails
N_RESAMPLES: Final = 1_000
N_RESAMPLES_HEAVY: Final = 200  # classwise, sweep and smECE beyond N * K = HEAVY_CELLS
HEAVY_CELLS: Final = 5_000_000
N_RESAMPLES_MIN: Final = 10  # fewer draws have no tails
N_RESAMPLES_MAX: Final = 20_000  # each holds about 70 KB, whatever the rows: 1.4 GB
MAX_BINS: Final = 1_000
SEED: Final = 0
SEED_MAX: Final = 2**63 - 1  # what every reader of JSON with whole numbers holds
S99: Final = 0.99  # Mukhoti et al. 2020, table 6: share of rows at or above this confidence
FALSE_ALARMS: Final = 0.05  # of the joint test behind a verdict, and of a page that looks at many
SOUND_POWER: Final = 0.95  # a target is "sound" where a material miscalibration would show as often
LOW_POWER: Final = 0.5  # rows are "too few" where it would more often than not have been missed
MATERIAL_TEMPERATURE: Final = 1.15  # logits off by 15 % are material, Guo et al. 2017 find 1.1 to 3
MATERIAL_ODDS: Final = 1.2  # and so are odds off by a fifth
MATERIAL_SHARE: Final = 0.05  # of mean p (1 - p): forms that move claims by less are not material
SMALL_GAP: Final = 0.025  # a signed gap below this is small: MATERIAL_ODDS move 20 to 80 % by more
SMALL_SLOPE: Final = 0.15  # and so is a slope closer to 1 than this, as MATERIAL_TEMPERATURE
SMALL_RARE: Final = 1 / 5  # of the rarer outcome: odds off by a fifth matter however rare it is
SMOOTHERS: Final = ("lowess", "loess")  # Harrell 2015; Austin and Steyerberg 2019
SMOOTHER: Final = SMOOTHERS[0]  # of the flexible curve
ACTS_AT: Final = 0.1  # the risk from which one acts, of net benefit
SMALL_N: Final = 30  # fewer rows are said to be few
FEW_EVENTS: Final = 200  # events or non-events below which no curve is judged, Van Calster 2016

MAX_COLUMNS: Final = 20_000
MAX_MEMBERS: Final = 2_000  # entries of an archive
MAX_RATIO: Final = 200  # inflated bytes for one stored byte in an archive
MAX_BYTES: Final = 8 * 2**30  # of what a reader unpacks or converts
MAX_MAPPED_BYTES: Final = 2**40  # of an array that stays in a file, and of all shards
UPLOAD_MB: Final = 1_024  # of a file
UPLOADS_SESSION_MB: Final = 2_048  # of a session's files that are in memory
UPLOADS_MB: Final = 4_096  # of all sessions' together
READ_TIMEOUT_S: Final = 300.0
TRASH_DAYS: Final = 30

VERSION: Final = "0.1.0"  # of the program; every file that it writes names it
