"""HBF: how long a layer of a model takes to be read, by age and read scheme."""

from __future__ import annotations
