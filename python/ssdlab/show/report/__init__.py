"""Reports: a folder of results as one HTML file that needs no network, with charts and tables to work with.

What a folder may be, and what is shown of it:

- a study's folder, or a folder of a study's tables (``results/STUDY``): claims, text, figures, tables;
- results of ``ssdlab run --json`` (also with ``--repeat``, also those of ``ssdlab sweep --files``), with their
  ``--requests-out`` and ``--series-out``: latencies, time series, where time went, manifest;
- what ``ssdlab search --out`` wrote: the front, the command of each of its points, what each axis contributes;
- tables of ``ssdlab sweep --out`` and of other commands: charts by metric, axis and group.

The page is ``assets/page.html``: Python collects the data, ``assets/page.js`` shows them with plotly.js and DataTables,
which the packages ``plotly`` and ``itables`` bring.
"""

from ssdlab.show.report.contents import collect, report

__all__ = ["collect", "report"]
