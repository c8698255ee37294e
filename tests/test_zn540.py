"""The preset zn540 has the zones of the drive that it is fitted to; the study placement has what they take."""

from __future__ import annotations

import ssdlab

MIB = 1 << 20


def test_it_has_the_zones_of_the_drive() -> None:
    drive = ssdlab.Device("zn540")
    zones = drive.zones()
    assert (len(zones), zones[0].capacity, zones[1].start) == (904, 1077 * MIB, 2048 * MIB)
