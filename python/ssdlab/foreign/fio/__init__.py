"""fio's job files as they are: their jobs become ours, stonewall by stonewall; results in fio's layouts.

The meaning of the options is fio's (J. Axboe, "fio - Flexible I/O tester", documentation of version 3). docs/fio.md has
the tables of its options side by side with ours.
"""

from ssdlab.foreign.fio.job import Job, JobFile
from ssdlab.foreign.fio.options import SUPPORTED, WITHOUT_EFFECT
from ssdlab.foreign.fio.output import to_json, to_text
from ssdlab.foreign.fio.runs import load

__all__ = ["SUPPORTED", "WITHOUT_EFFECT", "Job", "JobFile", "load", "to_json", "to_text"]
