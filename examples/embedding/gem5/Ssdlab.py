from m5.objects.AbstractMemory import AbstractMemory
from m5.params import *


class SsdlabMemory(AbstractMemory):
    type = "SsdlabMemory"
    cxx_header = "mem/ssdlab/ssdlab.hh"
    cxx_class = "gem5::memory::SsdlabMemory"

    port = ResponsePort("Requests of the memory system")
    device = Param.String("tlc", "A preset of ssdlab, or the path of a device file")
    scheme = Param.String("", "A named scheme, or choices: axis=choice,...")
    age = Param.String("", "The state at the start: pec=2000,retention=6mo")
    settings = VectorParam.String([], "Configuration keys, section.key=value each")
    seed = Param.UInt64(1, "Of all random streams")
    result = Param.String("", "Where the result is written at the end (JSON)")
    requests_out = Param.String("", "Where a row for each request is written (Parquet)")
