"""Timelines that tests read: the slices of every track of a Perfetto trace."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest


class Slice:
    """A slice of a trace, with its notes."""

    def __init__(self, name: str, begin: int, depth: int, event: Any) -> None:
        self.name, self.begin, self.end, self.depth = name, begin, begin, depth
        self.notes = {note.name: note.uint_value for note in event.debug_annotations}
        self.flows = set(event.flow_ids)


def read(path: Path) -> dict[str, list[Slice]]:
    """The slices of every track, by the names on the way to it."""
    schema = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed"
    )
    from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]

    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    names: dict[int, str] = {0: ""}
    open_: dict[int, list[Slice]] = defaultdict(list)
    found: dict[str, list[Slice]] = defaultdict(list)
    for packet in trace.packet:
        for message in (packet, packet.track_event, packet.track_descriptor):
            assert len(UnknownFieldSet(message)) == 0
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            names[track.uuid] = f"{names[track.parent_uuid]}/{track.name}"
            continue
        event, stack = packet.track_event, open_[packet.track_event.track_uuid]
        if event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(Slice(event.name, packet.timestamp, len(stack), event))
            found[names[event.track_uuid]].append(stack[-1])
        elif event.type == schema.TrackEvent.TYPE_SLICE_END:
            stack.pop().end = packet.timestamp
    assert not any(open_.values())
    return found
