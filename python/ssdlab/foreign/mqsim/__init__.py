"""MQSim's files as they are: ``ssdconfig.xml`` and ``workload.xml`` become devices and workloads of ssdlab.

What the keys mean is MQSim's own (A. Tavakkol et al., "MQSim", FAST'18; CMU-SAFARI/MQSim, README.md and src/exec). No
code of it is used. docs/mqsim.md has the table of its keys side by side with ours.
"""

from ssdlab.foreign.mqsim.keys import KEYS
from ssdlab.foreign.mqsim.scenarios import Scenarios, load

__all__ = ["KEYS", "Scenarios", "load"]
