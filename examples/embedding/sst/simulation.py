"""An SSD beside a component of your own, which sends it BlockEvents: sst simulation.py"""

import sst

drive = sst.Component("ssd", "ssdlab_sst.Drive")
drive.addParams({"device": "asplos21", "age": "pec=2000,retention=6mo", "scheme": "pnar2", "result": "ssd.json"})
host = sst.Component("host", "mine.Host")
sst.Link("pcie").connect((host, "drive", "500ns"), (drive, "host", "500ns"))
