"""Devices fitted to measurements: the constants of a drive from what fio, or a data sheet, says of it."""

from ssdlab.devices.fitting import BUDGET, Fit, Progress, fit
from ssdlab.devices.folds import cross_check
from ssdlab.devices.measured import MeasuredJob, read
from ssdlab.devices.written import device_toml

__all__ = ["BUDGET", "Fit", "MeasuredJob", "Progress", "cross_check", "device_toml", "fit", "read"]
