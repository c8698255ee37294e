"use strict";
// Shows the data of the page. Texts from files reach the document as text nodes or escaped, never as markup, but for
// `text`, which comes rendered from a study's README with tags escaped.
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");

  // ---------------------------------------------------------------- small helpers

  const el = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  };
  const escaped = (text) =>
    String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
  const unpacked = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const unique = (values) => [...new Set(values)];
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const t95 = (count) => data.t95[Math.min(count - 2, data.t95.length - 1)];
  const mean = (values) => sum(values) / values.length;
  const number = (value) => {
    if (value === null || value === undefined) return "–";
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
    const size = Math.abs(value);
    if (size < 1e-4 || size >= 1e15) return value.toExponential(3);
    if (size >= 1e5) return Math.round(value).toLocaleString("en-US");
    return value.toLocaleString("en-US", { maximumSignificantDigits: 5 });
  };
  const withInterval = (value, half) => {
    if (value === null || half === null || half === undefined || half <= 1e-12 * Math.abs(value)) return number(value);
    const digits = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(half))));
    const shown = (n) => n.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return `${shown(value)} ± ${shown(half)}`;
  };
  const duration = (ns) => {
    if (ns === null || ns === undefined) return "–";
    const [scale, unit] = ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    return `${(ns / scale).toLocaleString("en-US", { maximumSignificantDigits: 3 })} ${unit}`;
  };

  // ---------------------------------------------------------------- statistics: units, names

  const described = (name) => data.statistics[name] ?? data.statistics[name.replace(/^host\.queue\.\d+\./, "host.queue.0.")];
  const SUFFIXES = { _ns: "ns", _us: "µs", _ms: "ms", _s: "s", _percent: "%", _bytes: "B", _mb_s: "MB/s" };
  // What is shown in charts: latencies in µs, all else in its own unit.
  const scaleOf = (name) => {
    const suffix = Object.keys(SUFFIXES).find((end) => name.endsWith(end));
    const unit = described(name)?.[0] ?? (name.includes("latency_ns") ? "ns" : suffix ? SUFFIXES[suffix] : "");
    return unit === "ns" ? { factor: 1e-3, unit: "µs" } : { factor: 1, unit };
  };
  const axisTitle = (name, unit) => {
    const [title, better] = data.words[name] ?? [name, ""];
    return title + (unit ? ` [${unit}]` : "") + (better ? ` (${better} is better)` : "");
  };

  // ---------------------------------------------------------------- the libraries

  const [plotly, datatables, style] = await Promise.all(["plotly", "datatables", "datatables-style"].map(unpacked));
  document.head.prepend(el("style", { textContent: style }));
  await new Promise((resolve, reject) => {
    const script = el("script", { src: URL.createObjectURL(new Blob([plotly], { type: "text/javascript" })) });
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
  const DataTable = (await import(URL.createObjectURL(new Blob([datatables], { type: "text/javascript" })))).default;

  // ---------------------------------------------------------------- colours and charts

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  // P. Tol's bright and light schemes: the colour-blind can tell their colours apart.
  const BRIGHT = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999", "#222255", "#225555", "#663333"];
  const LIGHT = ["#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#99ddff", "#bbbbbb", "#bbcc33", "#aaaa00", "#cc99cc"];
  const DASHES = ["solid", "dash", "dot", "dashdot"];
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "triangle-down", "star", "cross", "pentagon", "hexagram"];
  const colour = (index) => (dark.matches ? LIGHT : BRIGHT)[index % BRIGHT.length];
  const dash = (index) => DASHES[Math.floor(index / BRIGHT.length) % DASHES.length];
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const charts = new Map();
  const merged = (base, more) => {
    const found = { ...base };
    for (const [key, value] of Object.entries(more)) {
      const deep = value !== null && typeof value === "object" && !Array.isArray(value) && found[key] !== undefined;
      found[key] = deep ? merged(found[key], value) : value;
    }
    return found;
  };
  // Draws what `make` gives, {traces, layout}; again when the colours change.
  const draw = (node, make) => {
    charts.set(node, make);
    const { traces, layout } = make();
    const axis = { gridcolor: ink("line"), zerolinecolor: ink("line"), linecolor: ink("dim"), automargin: true,
      title: { standoff: 8 }, exponentformat: "none", separatethousands: true };
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", colorway: dark.matches ? LIGHT : BRIGHT,
      font: { color: ink("ink"), size: 13, family: "system-ui, 'Segoe UI', Roboto, Arial, sans-serif" },
      margin: { l: 60, r: 16, t: 16, b: 48 }, hovermode: "closest", xaxis: axis, yaxis: axis, showlegend: traces.length > 1,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: ink("line"), activecolor: ink("accent") },
      hoverlabel: { bgcolor: ink("paper"), bordercolor: ink("dim"), font: { color: ink("ink") } },
    };
    // The buttons are named one by one: plotly's own choice has one that uploads the chart.
    // On a telephone they would lie over the legend.
    const options = { responsive: true, displaylogo: false, displayModeBar: node.clientWidth < 500 ? false : "hover", plotlyServerURL: "",
      modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
      toImageButtonOptions: { format: "svg", filename: "ssdlab" } };
    return Plotly.react(node, traces, merged(base, layout), options);
  };
  const recolour = () => {
    document.documentElement.classList.toggle("dark", dark.matches);
    for (const [node, make] of charts) if (node.isConnected) draw(node, make);
  };
  dark.addEventListener("change", recolour);
  recolour();

  const NINES = { tickvals: [0, 1, 2, 3, 4, 5, 6], ticktext: ["0", "90", "99", "99.9", "99.99", "99.999", "99.9999"] };

  // ---------------------------------------------------------------- parts of the page

  // What puts results in doubt: id, what was found, and what to do about it.
  const warnings = (found) => (found.length === 0 ? null : el("ul", { className: "warnings" }, ...found.map(({ id, text, remedy }) =>
    el("li", {}, el("b", {}, id), `: ${text}`, remedy ? el("div", { className: "hint" }, remedy) : null))));
  const gravestFirst = (found) => {
    const order = Object.keys(data.warnings);
    return found.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
  };
  // The warnings of several runs: each kind once, with the number of runs that have it.
  const sharedWarnings = (lists) => {
    const found = new Map();
    for (const each of lists.flat()) found.set(each.id, { ...each, count: (found.get(each.id)?.count ?? 0) + 1 });
    return warnings(gravestFirst([...found.values()]).map((each) => ({ ...each, text: `${each.text} (in ${each.count} of ${lists.length} runs)` })));
  };
  // And of a table's rows, which hold the ids.
  const MOST_WARNED = 5;
  const rowWarnings = (table, label) => {
    const column = table.columns.find((each) => each.role === "warnings");
    if (!column) return null;
    const found = new Map();
    valuesOf(table, column).forEach((ids, row) => {
      for (const id of (ids ?? "").split(", ").filter(Boolean)) found.set(id, [...(found.get(id) ?? []), row]);
    });
    const kinds = gravestFirst([...found].map(([id, of]) => ({ id, text: `${data.warnings[id]?.meaning ?? ""} (in ${number(of.length)} of ${number(table.rows)} rows: `
      + `${of.slice(0, MOST_WARNED).map(label).join("; ")}${of.length > MOST_WARNED ? `; and ${number(of.length - MOST_WARNED)} more` : ""})` })));
    const excluded = kinds.filter(({ id }) => data.warnings[id]?.excludes).map(({ id }) => id);
    return el("div", {}, warnings(kinds), excluded.length
      ? el("p", { className: "hint" }, `\`ssdlab compare\` leaves out rows that carry ${excluded.join(", ")}; here they are drawn with the others.`) : null);
  };

  const links = [];
  const section = (title, name, ...children) => {
    const node = el("section", { id: name }, el("h2", {}, title), ...children);
    if (name) links.push([title, name]);
    return node;
  };
  const select = (label, choices, value, changed) => {
    const menu = el("select", { ariaLabel: label });
    const put = (parent, [text, of]) => parent.append(el("option", { value: of, textContent: text, selected: of === value }));
    for (const choice of choices) {
      if (Array.isArray(choice[1])) {
        const group = el("optgroup", { label: choice[0] });
        for (const inner of choice[1]) put(group, inner);
        menu.append(group);
      } else put(menu, choice);
    }
    menu.addEventListener("change", () => changed(menu.value));
    return el("label", {}, label, menu);
  };
  const tick = (label, value, changed) => {
    const box = el("input", { type: "checkbox", checked: value });
    box.addEventListener("change", () => changed(box.checked));
    return el("label", { className: "tick" }, box, label);
  };
  const plain = (names) => names.map((name) => [name, name]);
  // Names of statistics by their first two parts.
  const grouped = (names) => {
    const groups = new Map();
    for (const name of names) {
      const parts = name.split(".");
      const head = parts.length > 2 ? parts.slice(0, 2).join(".") : parts.length > 1 ? parts[0] : "";
      if (!groups.has(head)) groups.set(head, []);
      groups.get(head).push([name, name]);
    }
    return [...groups].flatMap(([head, inner]) => (head ? [[head, inner]] : inner));
  };
  const copyable = (text) => {
    const button = el("button", { className: "copy", type: "button" }, "copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        const area = el("textarea", { value: text });
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1200);
    });
    return el("div", { className: "command" }, el("pre", {}, text), button);
  };

  // A table that can be sorted and filtered. Columns: {name, numeric, visible, prose, render(value, row)}.
  const dataTable = (columns, rows, options = {}) => {
    const node = el("table", { className: "display compact" });
    const holder = el("div", { className: "wide-table" }, node);
    const few = rows.length <= 25;
    const render = (column) => (value, type, row) => {
      if (type === "display") {
        if (column.render) return column.render(value, row);
        if (!column.numeric) return escaped(value ?? "–");
        const shown = number(value);
        return value === null || shown.replaceAll(",", "") === String(value)
          ? shown : `<span title="${escaped(value)}">${shown}</span>`;
      }
      if (type !== "filter") return value;
      // DataTables reads what it filters by as markup.
      return value === null ? "" : column.numeric ? `${value} ${number(value)}` : escaped(value);
    };
    // The table must be in the document when it is made: its widths are measured.
    const start = () => new DataTable(node, {
      data: rows,
      columns: columns.map((column) => ({
        title: escaped(column.name), visible: column.visible ?? true, type: column.numeric ? "num" : "string",
        className: column.numeric ? "num" : column.prose ? `prose ${column.prose}` : "label", render: render(column),
      })),
      order: [], pageLength: 25, lengthMenu: [25, 100, 500, { label: "all", value: -1 }], deferRender: true, paging: !few,
      autoWidth: false,
      columnControl: [{ target: 0, content: ["order"] }, { target: 1, content: ["search"] }],
      ordering: { indicators: false },
      layout: {
        topStart: { buttons: [...(options.hide ? [{ extend: "colvis", text: "columns" }] : []),
          { extend: "csv", text: "CSV", exportOptions: { orthogonal: "sort" } }] },
        topEnd: "search", bottomStart: few ? null : "info", bottomEnd: few ? null : ["pageLength", "paging"],
      },
      createdRow: options.createdRow,
    });
    return { holder, start };
  };

  const commandOf = ({ command, exact, note }) => [
    command ? copyable(command) : null,
    exact ? el("p", { className: "hint" }, "Checked: it resolves to the very input of the manifest.") : null,
    note ? el("p", { className: "hint" }, note) : null,
  ].filter(Boolean);
  const manifestTable = (manifest) => dataTable([{ name: "key" }, { name: "value", prose: true }],
    Object.entries(manifest).map(([name, value]) => [name, Array.isArray(value) ? JSON.stringify(value) : String(value)]));

  // ---------------------------------------------------------------- header

  const badges = el("div", { className: "badges" });
  document.getElementById("top").append(
    el("h1", {}, data.runs.length === 1 ? data.runs[0].title : data.title),
    ...[data.about, data.conditions].filter(Boolean).map((text) => el("p", { className: "about" }, text)), badges,
    ...(data.runs.length === 1 && data.runs[0].command.command ? [copyable(data.runs[0].command.command)] : []));
  const badge = (text) => badges.append(el("span", { className: "badge" }, text));
  const tile = (value, what, state = "") => el("div", { className: `tile ${state}` }, el("b", {}, value), el("span", {}, what));

  // ---------------------------------------------------------------- claims

  const claims = () => {
    const word = (passed) => (passed === null ? "not measured" : passed ? "within range" : "outside");
    const count = (passed) => data.claims.filter((claim) => claim.passed === passed).length;
    main.append(el("div", { className: "tiles" },
      tile(number(data.claims.length), "claims of the paper"),
      tile(number(count(true)), "within range", "good"),
      tile(number(count(false)), "outside", count(false) ? "bad" : ""),
      tile(number(count(null)), "not measured")));
    const kinds = ["predicted", "fitted", "by construction"];
    const of = (proves, passed) => number(data.claims.filter((c) => c.proves === proves && c.passed === passed).length);
    main.append(el("p", { className: "hint", id: "proves" }, kinds.map((proves) =>
      `${proves}: ${of(proves, true)} within range, ${of(proves, false)} outside, ${of(proves, null)} not measured`).join("; ") + "."));
    const reasons = data.claims.filter((claim) => claim.why);
    if (reasons.length) {
      main.append(el("p", { className: "hint" }, "Why claims are outside of their ranges; more below, under the set-up:"),
        el("ul", { className: "hint", id: "why" }, ...reasons.map((claim) => el("li", {}, el("b", {}, claim.id), `: ${claim.why}`))));
    }
    const columns = [
      { name: "#", numeric: true }, { name: "claim" }, { name: "kind" }, { name: "where", prose: true }, { name: "says", prose: "long" },
      { name: "unit" }, { name: "published", numeric: true },
      { name: "measured", numeric: true, render: (value, row) => escaped(withInterval(value, row[CI])) },
      { name: "accepted" },
      { name: "state", render: (value) => `<span class="state ${value === "not measured" ? "open" : value}">${value}</span>` },
      { name: "evidence" }, { name: "by", prose: "long" }, { name: "half" },
      { name: "note", prose: "long" }, { name: "± 95 %", numeric: true, visible: false },
    ];
    const [KIND, STATE, PROVES, CI] = ["kind", "state", "evidence", "± 95 %"].map((name) => columns.findIndex((column) => column.name === name));
    const rank = ["outside", "not measured", "within range"];
    // What is outside of its range stands first.
    const rows = data.claims.map((c, index) => [index + 1, c.id, c.kind, c.where, c.says, c.unit, c.published, c.measured,
      c.accept.map(number).join(" … "), word(c.passed), c.proves, c.proof, c.half, c.note, c.ci]).sort((a, b) => rank.indexOf(a[STATE]) - rank.indexOf(b[STATE]));
    const { holder, start } = dataTable(columns, rows, {
      hide: true, createdRow: (row, values) => { if (values[STATE] === "outside") row.className = "fails"; },
    });
    let table;
    const chosen = { state: "all", kind: "all", proves: "all" };
    const filter = () => {
      table.column(STATE).search.fixed("state", (text, values, index) => chosen.state === "all" || rows[index][STATE] === chosen.state);
      table.column(KIND).search.fixed("kind", (text, values, index) => chosen.kind === "all" || rows[index][KIND] === chosen.kind);
      table.column(PROVES).search.fixed("proves", (text, values, index) => chosen.proves === "all" || rows[index][PROVES] === chosen.proves);
      table.draw();
      draw(chart, overview);
    };
    const chart = el("div", { className: "chart" });
    const overview = () => {
      const shown = data.claims.filter((c) => (chosen.state === "all" || word(c.passed) === chosen.state)
        && (chosen.kind === "all" || c.kind === chosen.kind) && (chosen.proves === "all" || c.proves === chosen.proves)
        && c.published !== 0);
      const ratio = (claim, value) => Math.min(20, Math.max(0.05, value / claim.published));
      chart.style.height = `${Math.max(180, 110 + 17 * shown.length)}px`;
      const ranges = { x: [], y: [], mode: "lines", line: { width: 9, color: dark.matches ? "#3d4a58" : "#d5dce4" },
        name: "accepted", hoverinfo: "skip" };
      for (const claim of shown) {
        const ends = claim.accept.map((end) => ratio(claim, end));
        // A range of one value would have no length.
        if (ends[1] - ends[0] < 0.01) { ends[0] *= 0.995; ends[1] *= 1.005; }
        ranges.x.push(...ends, null);
        ranges.y.push(claim.id, claim.id, null);
      }
      const dots = (passed, name, mark, tone) => {
        const own = shown.filter((claim) => claim.passed === passed && claim.measured !== null);
        return { x: own.map((c) => ratio(c, c.measured)), y: own.map((c) => c.id), mode: "markers", name,
          marker: { symbol: mark, size: 9, color: ink(tone) },
          error_x: { type: "data", array: own.map((c) => Math.abs((c.ci ?? 0) / c.published)), thickness: 1.2, width: 3 },
          text: own.map((c) => escaped(`measured ${withInterval(c.measured, c.ci)} ${c.unit}, published ${number(c.published)}`)),
          hovertemplate: "%{y}<br>%{text}<extra></extra>" };
      };
      const ids = shown.map((claim) => claim.id);
      return {
        traces: [ranges, dots(true, "within range", "circle", "good"), dots(false, "outside", "x", "bad")],
        layout: {
          xaxis: { type: "log", title: { text: "measured / published" }, range: [-1.31, 1.31], side: "bottom",
            tickvals: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20] },
          yaxis: { type: "category", categoryorder: "array", categoryarray: ids, range: [ids.length - 0.5, -0.5],
            tickfont: { size: 11 }, tickmode: "array", tickvals: ids, title: { text: "" } },
          shapes: [{ type: "line", x0: 1, x1: 1, yref: "paper", y0: 0, y1: 1, line: { color: ink("dim"), width: 1, dash: "dot" } }],
          showlegend: true, margin: { t: 40 }, legend: { y: 1, yanchor: "bottom" },
        },
      };
    };
    const states = ["within range", "outside", "not measured"];
    main.append(section("Claims", "claims",
      el("div", { className: "controls" },
        select("state", [["all", "all"], ...plain(states)], "all", (value) => { chosen.state = value; filter(); }),
        select("kind", [["all", "all"], ...plain(unique(data.claims.map((c) => c.kind)))], "all",
          (value) => { chosen.kind = value; filter(); }),
        select("evidence", [["all", "all"], ...plain(kinds)], "all", (value) => { chosen.proves = value; filter(); })),
      holder,
      el("details", { open: true, id: "claims-chart" }, el("summary", {}, "Measured over published, and what is accepted"), chart,
        el("p", { className: "hint" }, "Claims of zero have no ratio and are left out; ratios beyond 0.05 … 20 are drawn there."))));
    table = start();
    draw(chart, overview);
  };

  // ---------------------------------------------------------------- tables: charts by metric, axis and group

  const SHOWN = ["host.read.latency_ns.mean", "host.read.latency_ns.p99", "host.write.latency_ns.mean", "host.all.iops", "ftl.waf"];
  const valuesOf = (table, column) => column.values ?? Array(table.rows).fill(column.all);
  const labelsOf = (values) => {
    const labels = unique(values.filter((value) => value !== null));
    return labels.every((label) => typeof label === "number") ? labels.sort((a, b) => a - b) : labels;
  };

  // Means over rows that agree in x and group, with 95 % intervals over seeds; ratios are taken pair by pair.
  const aggregated = (view) => {
    const { rows, value, xOf, groupOf, seedOf, pairOf, baseline } = view;
    const base = new Map();
    if (baseline !== null) {
      for (const row of rows) if (String(groupOf(row)) === baseline && value(row) !== null) base.set(pairOf(row), value(row));
    }
    // The mean over all rows is of those that all groups have: else a group that lacks the hard rows would look best.
    const groups = new Map();
    if (view.overall) {
      for (const row of rows) {
        if (value(row) === null || !base.get(pairOf(row))) continue;
        if (!groups.has(pairOf(row))) groups.set(pairOf(row), new Set());
        groups.get(pairOf(row)).add(groupOf(row));
      }
    }
    const all = new Set([...groups.values()].flatMap((of) => [...of])).size;
    const cells = new Map();
    for (const row of rows) {
      let found = value(row);
      if (found === null) continue;
      if (baseline !== null) {
        const other = base.get(pairOf(row));
        if (!other) continue;
        found /= other;
      }
      for (const x of groups.get(pairOf(row))?.size === all ? [xOf(row), GEOMEAN] : [xOf(row)]) {
        const key = JSON.stringify([x, groupOf(row)]);
        if (!cells.has(key)) cells.set(key, new Map());
        const seeds = cells.get(key);
        if (!seeds.has(seedOf(row))) seeds.set(seedOf(row), []);
        seeds.get(seedOf(row)).push(found);
      }
    }
    const middle = (values) => (baseline !== null && values.every((v) => v > 0) ? Math.exp(mean(values.map(Math.log))) : mean(values));
    return (x, group) => {
      const seeds = cells.get(JSON.stringify([x, group]));
      if (!seeds) return null;
      const means = [...seeds.values()].map(middle);
      const all = mean(means);
      const spread = Math.sqrt(sum(means.map((m) => (m - all) ** 2)) / Math.max(1, means.length - 1) / means.length);
      const half = means.length > 1 ? t95(means.length) * spread : null;
      return { mean: all, half, rows: sum([...seeds.values()].map((values) => values.length)), seeds: means.length };
    };
  };
  const GEOMEAN = "geometric mean";

  const explorer = () => {
    let table, names, values, chosen;
    const controls = el("div", { className: "controls" });
    const chart = el("div", { className: "chart tall", id: "explorer" });
    const hint = el("p", { className: "hint" });
    const about = el("p", { className: "hint" });
    const holder = el("div", { id: "table" });
    const source = el("div", { id: "source" });
    const doubts = el("div", { id: "doubts" });
    const role = (name) => table.columns.find((column) => column.name === name)?.role;
    const isNumber = (name) => table.columns.find((column) => column.name === name)?.numeric ?? false;

    const open = (name) => {
      table = data.tables.find((each) => each.name === name);
      values = new Map(table.columns.map((column) => [column.name, valuesOf(table, column)]));
      names = { axes: [], decided: [], metrics: [] };
      for (const column of table.columns) {
        const several = labelsOf(values.get(column.name)).length > 1;
        if (column.role === "axis" && several) names.axes.push(column.name);
        if (column.role === "decided") names.decided.push(column.name);
        if (column.role === "key" && several) names.key = column.name;
        if (column.numeric && (column.role === "statistic" || !table.swept)) names.metrics.push(column.name);
      }
      const measured = names.metrics.filter((metric) => role(metric) === "statistic" && values.get(metric).some((v) => v !== null));
      const free = names.axes.filter((axis) => axis !== "seed");
      const count = (axis) => labelsOf(values.get(axis)).length;
      const metric = SHOWN.find((each) => measured.includes(each)) ?? measured.at(table.swept ? 0 : -1) ?? names.metrics.at(-1) ?? null;
      const axes = free.filter((axis) => axis !== metric);
      const fewest = [...axes].sort((a, b) => count(a) - count(b));
      const by = axes.length < 2 ? "" : axes.find((axis) => axis === "scheme") ?? fewest[0];
      const numeric = names.metrics.filter((each) => each !== metric && !table.swept);
      const x = fewest.filter((axis) => axis !== by).at(-1) ?? names.key ?? numeric[0] ?? "";
      chosen = { metric, x, by, baseline: "", kind: "auto", logY: null, filters: {} };
      about.textContent = [table.about, `${number(table.rows)} rows, ${table.columns.length} columns: ${table.file}`]
        .filter(Boolean).join(". ");
      const named = (row) => names.axes.map((axis) => `${axis}=${values.get(axis)[row]}`).join(" ");
      const keyed = (row) => (names.key && data.runs.length > 1 ? values.get(names.key)[row] : named(row));
      doubts.replaceChildren(rowWarnings(table, keyed) ?? "");
      arrange();
      fill();
      source.replaceChildren();
      if (table.command) source.append(el("h3", {}, "Play it again"), copyable(table.command));
      if (table.source) {
        source.append(el("details", {}, el("summary", {}, "The sweep file"), el("pre", {}, table.source)));
      }
      if (table.cases.length) source.append(...cases());
      if (table.swept && !table.source && !data.runs.length) {
        source.append(el("p", { className: "hint" }, "The sweep file is not here: where it lies beside its table, this page has it."));
      }
    };

    // Manifest and command of the cases whose results are kept.
    const cases = () => {
      const place = el("div");
      const label = ({ row }) => names.axes.map((axis) => `${axis}=${values.get(axis)[row]}`).join(" ");
      const show = (index) => {
        const { command, manifest } = table.cases[index];
        const keys = manifestTable({ ...table.cases[0].manifest, ...(index ? manifest : {}) });
        place.replaceChildren(...commandOf(command), el("details", {}, el("summary", {}, "Manifest"), keys.holder));
        keys.start();
      };
      show(0);
      return [el("h3", {}, "Play a case again"), el("div", { className: "controls" },
        select("case", table.cases.map((each, index) => [label(each), String(index)]), "0", (value) => show(Number(value)))), place];
    };

    const arrange = () => {
      const change = (key) => (value) => {
        chosen[key] = value;
        if (key === "by") chosen.baseline = "";
        delete chosen.filters[value];
        arrange();
      };
      const spare = names.axes.filter((axis) => ![chosen.x, chosen.by, "seed"].includes(axis) && axis !== chosen.metric);
      const numbers = names.metrics.filter((metric) => !names.axes.includes(metric));
      const xs = [["– (all in one)", ""], ...plain([...names.axes, ...names.decided]), ...(names.key ? plain([names.key]) : []),
        ["statistics", plain(numbers)]];
      controls.replaceChildren(
        data.tables.length > 1
          ? select("table", data.tables.map((each) => [`${each.name} (${number(each.rows)})`, each.name]), table.name, open) : "",
        select("metric", grouped(names.metrics), chosen.metric, change("metric")),
        select("over", xs, chosen.x, change("x")),
        select("by", [["–", ""], ...plain([...names.axes, ...names.decided])], chosen.by, change("by")),
        chosen.by ? select("relative to", [["– (absolute)", ""], ...plain(labelsOf(values.get(chosen.by)).map(String))],
          chosen.baseline, change("baseline")) : "",
        ...spare.map((axis) => select(axis, [["all", ""], ...plain(labelsOf(values.get(axis)).map(String))],
          chosen.filters[axis] ?? "", (value) => { chosen.filters[axis] = value; arrange(); })),
        select("as", [["best fit", "auto"], ["bars", "bars"], ["lines", "lines"], ["a dot a row", "dots"]], chosen.kind, change("kind")),
        tick("log scale", chosen.logY ?? false, change("logY")),
      );
      for (const [axis] of Object.entries(chosen.filters)) if (!spare.includes(axis)) delete chosen.filters[axis];
      draw(chart, picture);
    };

    const picture = () => {
      const { metric, x, by, baseline } = chosen;
      if (metric === null) {
        hint.textContent = "There are no numbers to draw.";
        return { traces: [], layout: {} };
      }
      const kept = [...Array(table.rows).keys()].filter((row) =>
        Object.entries(chosen.filters).every(([axis, label]) => !label || String(values.get(axis)[row]) === label));
      const groups = by ? labelsOf(kept.map((row) => values.get(by)[row])) : [""];
      const y = scaleOf(metric);
      const scatter = chosen.kind === "dots" || (role(x) === "statistic" && isNumber(x) && table.swept);
      const xScale = isNumber(x) && role(x) === "statistic" ? scaleOf(x) : { factor: 1, unit: "" };
      const xAt = (row) => (x ? values.get(x)[row] : "all");
      const xs = labelsOf(kept.map(xAt));
      const numericX = isNumber(x) && (scatter || xs.length > 2);
      const lines = chosen.kind === "lines" || (chosen.kind === "auto" && numericX);
      const ratio = baseline !== "";
      const positive = xs.length && xs.every((label) => label > 0);
      const logX = numericX && (lines || scatter) && positive && xs.at(-1) / xs[0] >= 50;
      const title = ratio ? `${(data.words[metric] ?? [metric])[0]} over ${baseline}'s` : axisTitle(metric, y.unit);
      const layout = {
        yaxis: { title: { text: escaped(title) }, type: chosen.logY ? "log" : "linear" },
        xaxis: { title: { text: escaped(axisTitle(x, xScale.unit)) },
          ...(numericX && (lines || scatter) ? { type: logX ? "log" : "linear" } : { type: "category" }) },
        barmode: "group", bargap: 0.25, showlegend: by !== "",
      };
      if (!chosen.logY && !scatter) layout.yaxis.rangemode = "tozero";
      if (scatter) {
        hint.textContent = `A dot is a row of the table (${number(kept.length)}).`;
        const traces = groups.map((group, index) => {
          const own = by ? kept.filter((row) => values.get(by)[row] === group) : kept;
          const told = (row) => names.axes.map((axis) => escaped(`${axis} ${values.get(axis)[row]}`)).join("<br>");
          return { type: "scatter", mode: "markers", name: escaped(group),
            x: own.map((row) => { const v = xAt(row); return typeof v === "number" ? v * xScale.factor : v; }),
            y: own.map((row) => (values.get(metric)[row] === null ? null : values.get(metric)[row] * y.factor)),
            text: own.map(told), hovertemplate: "%{text}<br>%{x}, %{y}<extra></extra>",
            marker: { color: colour(index), size: 7, opacity: 0.75, symbol: SYMBOLS[index % SYMBOLS.length] } };
        });
        if (!numericX) layout.xaxis.categoryorder = "array", layout.xaxis.categoryarray = xs.map(String);
        return { traces, layout };
      }
      const rest = names.axes.filter((axis) => axis !== by);
      const overall = ratio && !lines && xs.length > 1 && x !== by;
      const cell = aggregated({
        rows: kept, value: (row) => values.get(metric)[row], xOf: xAt,
        groupOf: (row) => (by ? values.get(by)[row] : ""),
        seedOf: (row) => (names.axes.includes("seed") && x !== "seed" && by !== "seed" ? values.get("seed")[row] : 0),
        pairOf: (row) => JSON.stringify(rest.map((axis) => values.get(axis)[row])), baseline: ratio ? baseline : null, overall,
      });
      const places = overall ? [...xs, GEOMEAN] : xs;
      const factor = ratio ? 1 : y.factor;
      let least = Infinity, most = 0, seeds = 0;
      const traces = groups.map((group, index) => {
        const found = places.map((place) => cell(place, group));
        for (const each of found) if (each) {
          least = Math.min(least, each.rows); most = Math.max(most, each.rows); seeds = Math.max(seeds, each.seeds);
        }
        const error = { type: "data", array: found.map((each) => (each?.half ?? 0) * factor), thickness: 1, width: 2.5,
          color: ink("dim"), visible: found.some((each) => each?.half) };
        const common = { name: escaped(group), x: places.map((place) => (numericX && lines ? place : escaped(place))),
          y: found.map((each) => (each ? each.mean * factor : null)), error_y: error,
          customdata: found.map((each) => (each ? `${number(each.rows)} rows${each.half === null ? "" : `, ± ${number(each.half * factor)}`}` : "")),
          hovertemplate: `%{x}<br>${escaped(by ? `${by} ${group}: ` : "")}%{y:,.5~g}<br>%{customdata}<extra></extra>` };
        return lines
          ? { ...common, type: "scatter", mode: "lines+markers", line: { color: colour(index), dash: dash(index), width: 1.8 },
            marker: { symbol: SYMBOLS[index % SYMBOLS.length], size: 6 } }
          : { ...common, type: "bar", marker: { color: colour(index), pattern: { shape: index < BRIGHT.length ? "" : "/" } } };
      });
      if (!(numericX && lines)) { layout.xaxis.categoryorder = "array"; layout.xaxis.categoryarray = places.map(escaped); }
      if (ratio) {
        layout.shapes = [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: ink("dim"), width: 1, dash: "dot" } }];
      }
      const averaged = ratio ? "geometric mean of the ratios, pair by pair," : "mean";
      hint.textContent = most === 0 ? "Nothing was measured here." : [
        most > 1 ? `A point is the ${averaged} of ${least === most ? number(most) : `${number(least)} to ${number(most)}`} rows` : "A point is a row",
        seeds > 1 ? `; error bars are 95 % confidence intervals over ${seeds} seeds` : "",
        described(metric) ? `. ${metric}: ${described(metric)[1]}.` : ".",
      ].join("");
      return { traces, layout };
    };

    // Of a wide table the axes and some statistics, until all are asked for: hundreds of columns take seconds.
    const MOST = 40;
    const fill = (everything = false) => {
      const many = table.columns.length > 16;
      const usual = names.metrics.filter((metric) => SHOWN.includes(metric));
      const shown = new Set([...names.axes, "warnings", ...(data.runs.length > 1 && names.key ? [names.key] : []), ...(usual.length ? usual : names.metrics.slice(0, 6))]);
      const wide = table.columns.length > MOST;
      const columns = table.columns.map((column) => ({
        name: column.name, numeric: column.numeric, visible: !many || shown.has(column.name) || column.name === chosen.metric,
      })).filter((column) => !wide || everything || column.visible);
      const rows = [...Array(table.rows).keys()].map((row) => columns.map((column) => values.get(column.name)[row]));
      const made = dataTable(columns, rows, { hide: !wide || everything });
      holder.replaceChildren(wide ? el("div", { className: "controls" },
        tick(`all ${table.columns.length} columns to choose from`, everything, fill)) : "", made.holder);
      made.start();
    };

    main.append(section(
      data.runs.length > 1 ? "Compare" : data.tables.length > 1 ? "Tables" : data.tables[0].name, "tables", doubts, about, controls, chart, hint,
      el("h3", {}, "Rows"), holder, source));
    open(data.tables[0].name);
  };

  // ---------------------------------------------------------------- runs

  const runs = () => {
    const first = data.runs[0].manifest;
    const columns = data.tables.find((table) => table.name === "runs" && table.swept)?.columns ?? [];
    const body = el("div");
    const KINDS = { read: "reads", write: "writes", all: "all" };
    const PERCENTILES = [["p50", 0.5], ["p99", 0.01], ["p99_9", 1e-3], ["p99_99", 1e-4], ["p99_9999", 1e-6]];
    const statisticsOf = (index) => data.runs[index].statistics ?? Object.fromEntries(columns
      .filter((column) => column.role === "statistic").map((column) => [column.name, column.values ? column.values[index] : column.all]));
    let compareAll = false;

    const show = (index) => {
      const run = data.runs[index];
      const of = statisticsOf(index);
      const manifest = index === 0 ? first : { ...first, ...run.manifest };
      const kinds = Object.keys(KINDS).filter((kind) => of[`host.${kind}.requests`] > 0);
      body.replaceChildren();
      if (data.runs.length > 1) body.append(el("p", { className: "about" }, run.title));
      body.append(warnings(run.warnings) ?? "");

      // Key numbers.
      const tiles = el("div", { className: "tiles" });
      const put = (value, what, state) => tiles.append(tile(value, what, state));
      put(number(Math.round(of["host.all.iops"])), "requests a second (IOPS)");
      put(`${number(+of["host.all.bandwidth_mb_s"].toPrecision(4))} MB/s`, "bandwidth");
      for (const kind of kinds.filter((kind) => kind !== "all")) {
        put(duration(of[`host.${kind}.latency_ns.mean`]), `mean ${kind} latency`);
        put(duration(of[`host.${kind}.latency_ns.p99`]), `p99 ${kind} latency`);
      }
      if (of["ftl.waf"] !== null && of["ftl.waf"] !== undefined) {
        // Without a collection it is that of any drive; zones are not collected.
        const none = of["ftl.gc_runs"] === 0 && manifest.device?.config?.ftl?.mapping !== "zoned";
        put(`${none ? "~" : ""}${number(+of["ftl.waf"].toPrecision(4))}`, `write amplification${none ? ": nothing was collected" : ""}`);
      }
      put(`${number(+(100 - of["usage.die.idle"]).toPrecision(3))} %`, "of the dies' time busy");
      put(number(of["flash.erases"]), "erases");
      if (of["energy.per_gb"]) put(`${number(+of["energy.per_gb"].toPrecision(3))} J/GB`, "energy");
      if (of["host.uncorrectable"]) put(number(of["host.uncorrectable"]), "uncorrectable requests", "bad");
      body.append(tiles);

      // Latency.
      const distribution = el("div", { className: "chart", id: "cdf" });
      const distributions = () => {
        const traces = [];
        const drawn = compareAll ? data.runs.map((_, each) => each) : [index];
        drawn.forEach((each, place) => {
          const name = data.runs[each].name;
          const numbers = statisticsOf(each);
          for (const [kind, symbol] of [["read", "solid"], ["write", "dash"]]) {
            const label = drawn.length > 1 ? `${name}: ${KINDS[kind]}` : KINDS[kind];
            const tone = colour(drawn.length > 1 ? place : kind === "read" ? 0 : 1);
            const exact = data.runs[each].cdf?.[kind];
            const known = PERCENTILES.filter(([, beyond]) => numbers[`host.${kind}.requests`] * beyond >= 9.999999);
            const points = exact ?? { nines: known.map(([, beyond]) => -Math.log10(beyond)),
              latency_ns: known.map(([key]) => numbers[`host.${kind}.latency_ns.${key}`]) };
            if (!points.nines.length) continue;
            traces.push({ x: points.latency_ns.map((ns) => ns / 1e3), y: points.nines, mode: exact ? "lines" : "lines+markers",
              name: escaped(label), line: { color: tone, dash: drawn.length > 1 ? symbol : "solid", width: 2 },
              text: points.nines.map((nines) => `${+(100 * (1 - 10 ** -nines)).toFixed(Math.ceil(nines) + 1)} %`),
              hovertemplate: "%{text}: %{x:,.4~g} µs<extra>%{fullData.name}</extra>" });
          }
        });
        const most = Math.max(2, ...traces.flatMap((trace) => trace.y));
        return { traces, layout: { xaxis: { type: "log", title: { text: "latency [µs]" }, minor: { ticks: "outside", showgrid: false } },
          yaxis: { title: { text: "percentile [%]" }, range: [0, most + 0.15], ...NINES }, showlegend: true } };
      };
      const latency = section("Latency", data.runs.length > 1 ? "" : "latency",
        data.runs.length > 1 && data.runs.length <= 24 ? el("div", { className: "controls" },
          tick("all runs", compareAll, (value) => { compareAll = value; draw(distribution, distributions); })) : null,
        distribution,
        el("p", { className: "hint" }, run.cdf ? `Of every request (${run.logs.requests ?? `${run.file}.json`}); a curve ends where ten requests lie beyond.`
          : "Through the percentiles of the result; `--requests-out` gives the whole curve."));

      const shown = [...kinds.map((kind) => [KINDS[kind], `host.${kind}`]),
        ...unique(Object.keys(of).map((name) => name.match(/^host\.queue\.(\d+)\./)?.[1]).filter(Boolean))
          .map((queue) => [`queue ${queue}`, `host.queue.${queue}`])];
      const rows = shown.length === kinds.length + 1 ? shown.slice(0, -1) : shown;
      const few = (part, beyond) => of[`${part}.requests`] * beyond < 9.999999;
      const numbers = el("section", {}, el("h2", {}, "Percentiles"), el("div", { className: "wide-table" }, el("table", { className: "dataTable display compact", id: "percentiles" },
        el("thead", {}, el("tr", {}, ...["", "requests", "IOPS", "MB/s", "mean", "p50", "p99", "p99.9", "p99.99", "p99.9999", "max"]
          .map((text) => el("th", { className: "num" }, text)))),
        el("tbody", {}, ...rows.map(([name, part]) => el("tr", {}, el("td", {}, name),
          ...[number(of[`${part}.requests`]), number(Math.round(of[`${part}.iops`])), number(+of[`${part}.bandwidth_mb_s`].toFixed(1)),
            duration(of[`${part}.latency_ns.mean`]),
            ...PERCENTILES.map(([key, beyond]) => (few(part, beyond) ? "~" : "") + duration(of[`${part}.latency_ns.${key}`])),
            duration(of[`${part}.latency_ns.max`])].map((text) => el("td", { className: "num" }, text))))))),
      el("p", { className: "hint" }, "~ fewer than ten requests lie beyond."));
      for (const [flag, text] of [["host.wrapped", "requests lay beyond the device and were wrapped around"],
        ["host.trace.reordered", "requests of the trace were put in order"], ["host.trace.bad_lines", "malformed lines of the trace were left out"]]) {
        if (of[flag]) numbers.append(el("p", { className: "hint" }, `${number(of[flag])} ${text}.`));
      }
      if (manifest.until_steady) {
        numbers.append(el("p", { className: "hint" }, of["host.steady.reached"] ? "In a steady state (SNIA): its last five rounds are shown."
          : "No steady state was reached: all rounds are shown."));
      }

      // Over time.
      const time = el("div", { className: "chart", id: "series" });
      const timeOf = () => {
        const s = run.series;
        const lengths = s.time_ns.map((end, i) => (end - (i ? s.time_ns[i - 1] : 0)) / 1e9);
        const rate = (name, factor) => s[name].map((count, i) => (lengths[i] > 0 ? (count / lengths[i]) * factor : null));
        const each = (name, factor = 1) => s[name]?.map((value) => (value === null ? null : value * factor));
        const pictures = {
          "bandwidth [MB/s]": { reads: rate("read_bytes", 1e-6), writes: rate("write_bytes", 1e-6) },
          "requests a second": { reads: rate("reads", 1), writes: rate("writes", 1) },
          "outstanding requests": { outstanding: each("outstanding") },
          "logical pages in the write buffer": { buffered: each("buffered_pages") },
          "busy [%]": { dies: each("die_busy", 100), channels: each("channel_busy", 100) },
          "free blocks": { all: each("free_blocks"), "of the plane with the fewest": each("free_blocks_min") },
        };
        return pictures;
      };
      let metric = "bandwidth [MB/s]";
      const overTime = () => ({
        traces: Object.entries(timeOf()[metric]).filter(([, y]) => y).map(([name, y], place) => ({
          x: run.series.time_ns.map((ns) => ns / 1e9), y, mode: "lines", name, line: { color: colour(place), width: 1.4 },
          hovertemplate: "%{x:,.5~g} s: %{y:,.4~g}<extra>%{fullData.name}</extra>" })),
        layout: { xaxis: { title: { text: "simulated time [s]" } }, yaxis: { title: { text: metric }, rangemode: "tozero" } },
      });
      const series = run.series ? section("Over time", data.runs.length > 1 ? "" : "time",
        el("div", { className: "controls" }, select("shown", plain(Object.keys(timeOf())), metric,
          (value) => { metric = value; draw(time, overTime); })), time) : null;

      const late = el("div", { className: "chart", id: "latency-over-time" });
      let kindShown = run.over_time ? Object.keys(run.over_time)[0] : "";
      const latencies = () => ({
        traces: ["max", "p99", "p50"].map((key, place) => ({ x: run.over_time[kindShown].time_ns.map((ns) => ns / 1e9),
          y: run.over_time[kindShown][key].map((ns) => ns / 1e3), mode: "markers", name: key,
          marker: { size: 4, color: colour([1, 3, 0][place]), symbol: ["triangle-up", "diamond", "circle"][place] },
          hovertemplate: "%{x:,.5~g} s: %{y:,.4~g} µs<extra>%{fullData.name}</extra>" })),
        layout: { xaxis: { title: { text: "arrival [s]" } }, yaxis: { type: "log", title: { text: "latency [µs]" } } },
      });
      const slow = run.over_time ? el("section", {}, el("h2", {}, "Latency over time"),
        el("div", { className: "controls" }, select("of", Object.keys(run.over_time).map((kind) => [KINDS[kind], kind]), kindShown,
          (value) => { kindShown = value; draw(late, latencies); })), late) : null;

      // Where time went.
      const stacked = (id, part, what) => {
        const node = el("div", { className: "chart", id });
        let idle = false;
        const make = () => {
          const each = run.usage[part];
          const causes = Object.keys(each[0] ?? {}).filter((cause) => (idle || cause !== "idle") && each.some((one) => one[cause] > 0));
          causes.sort((a, b) => (a === "idle") - (b === "idle"));
          return {
            traces: causes.map((cause, place) => ({ type: "bar", name: data.causes[cause] ?? cause.replaceAll("_", " "), x: each.map((_, i) => i),
              y: each.map((one) => one[cause]), marker: { color: cause === "idle" ? (dark.matches ? "#38424e" : "#e3e7ec") : colour(place) },
              hovertemplate: `${what} %{x}: %{y:,.3~g} %<extra>%{fullData.name}</extra>` })),
            layout: { barmode: "stack", bargap: each.length > 64 ? 0 : 0.15, showlegend: true,
              xaxis: { title: { text: what }, tickformat: "d", ...(each.length <= 16 ? { dtick: 1 } : {}) },
              yaxis: { title: { text: "share of time [%]" }, ...(idle ? { range: [0, 100] } : {}) } },
          };
        };
        return { node, make, part: el("section", {}, el("h2", {}, `Where the ${part}' time went`),
          el("div", { className: "controls" }, tick("show idle time", idle, (value) => { idle = value; draw(node, make); })), node) };
      };
      const dies = stacked("dies", "dies", "die");
      const channels = stacked("channels", "channels", "channel");
      if (data.runs.length === 1) { dies.part.id = "where"; links.push(["Where time went", "where"]); }

      // What was written and what it cost.
      const parts = (id, title, prefix, unit, skip = []) => {
        const found = Object.entries(of).filter(([name, value]) => name.startsWith(prefix) && value > 0
          && !name.slice(prefix.length).includes(".") && !skip.includes(name.slice(prefix.length)));
        if (found.length < 2) return null;
        const node = el("div", { className: "chart", id, style: "height: 260px" });
        return { node, make: () => ({
          traces: [{ type: "bar", orientation: "h", y: found.map(([name]) => name.slice(prefix.length).replaceAll("_", " ")),
            x: found.map(([, value]) => value), marker: { color: colour(0) }, text: found.map(([, value]) => number(+value.toPrecision(4))),
            textposition: "auto", hoverinfo: "skip" }],
          layout: { xaxis: { title: { text: unit } }, yaxis: { autorange: "reversed", type: "category" } } }),
        part: el("section", {}, el("h2", {}, title), node) };
      };
      const waf = parts("waf", "Write amplification by cause", "ftl.waf_by.", "bytes programmed / bytes written by the host");
      const energy = parts("energy", "Energy", "energy.", "mJ", ["total", "per_read", "per_gb", "speculative"]);

      body.append(...[latency, numbers].filter(Boolean),
        el("div", { className: "columns" }, ...[series, slow].filter(Boolean)),
        el("div", { className: "columns", style: "margin-top: 16px" }, dies.part, channels.part),
        el("div", { className: "columns", style: "margin-top: 16px" }, ...[waf?.part, energy?.part].filter(Boolean)));
      draw(distribution, distributions);
      if (series) draw(time, overTime);
      if (slow) draw(late, latencies);
      for (const chart of [dies, channels, waf, energy]) if (chart) draw(chart.node, chart.make);

      // Everything.
      const all = dataTable([{ name: "statistic" }, { name: "value", numeric: true }, { name: "unit" }, { name: "description", prose: "long" }],
        Object.entries(of).map(([name, value]) => [name, value, described(name)?.[0] ?? "", described(name)?.[1] ?? ""]));
      all.holder.id = "statistics";
      body.append(section("All statistics", data.runs.length > 1 ? "" : "all", all.holder));
      all.start();
      const keys = manifestTable(manifest);
      keys.holder.id = "keys";
      body.append(section("Manifest", data.runs.length > 1 ? "" : "manifest",
        el("p", { className: "hint" }, "Everything that decides the result, as the simulator resolved it."),
        ...(data.runs.length > 1 ? commandOf(run.command) : []), keys.holder));
      keys.start();
    };

    if (data.runs.length > 1) {
      main.append(section("A run", "runs", el("div", { className: "controls" },
        select("run", data.runs.map((run, index) => [run.name, String(index)]), "0", (value) => show(Number(value))))));
    }
    main.append(body);
    show(0);
    badge(`seed ${data.runs.length > 1 ? unique(data.runs.map((run) => run.seed)).slice(0, 6).join(", ") : data.runs[0].seed}`);
    const made = unique(data.runs.map((run) => run.manifest.results_version ?? first.results_version));
    badge(`made with ssdlab ${first.ssdlab}, results version ${made.join(", ")}`);
  };

  // Means of repeated runs with their 95 % confidence intervals.
  const repeats = (file) => {
    const own = data.runs.map((run, index) => [run, index]).filter(([run]) => run.file === file && run.repeated).map(([, index]) => index);
    const table = data.tables.find((each) => each.name === "runs");
    const rows = table.columns.filter((column) => column.role === "statistic").map((column) => {
      const found = own.map((index) => valuesOf(table, column)[index]).filter((value) => value !== null);
      const unit = described(column.name)?.[0] ?? "";
      if (!found.length) return [column.name, null, null, null, null, unit];
      const middle = mean(found);
      const deviation = Math.sqrt(sum(found.map((value) => (value - middle) ** 2)) / Math.max(1, found.length - 1));
      const half = found.length > 1 ? (t95(found.length) * deviation) / Math.sqrt(found.length) : null;
      return [column.name, middle, half, Math.min(...found), Math.max(...found), unit];
    });
    const made = dataTable([{ name: "statistic" }, { name: "mean", numeric: true }, { name: "± 95 %", numeric: true },
      { name: "least", numeric: true }, { name: "most", numeric: true }, { name: "unit" }], rows);
    main.append(section(`${file}: ${own.length} repeats`, `repeats-${file}`,
      sharedWarnings(own.map((index) => data.runs[index].warnings)), made.holder));
    made.start();
  };

  // ---------------------------------------------------------------- a search

  const STATES = [["dropped", "dropped, after short runs", "circle-open"], ["behind", "surely behind", "square-open"],
    ["near", "not surely behind", "diamond-open"], ["front", "front, new seeds", "circle"]];
  const searched = () => {
    const found = data.search;
    const objective = (name) => found.objectives.find((each) => each.name === name);
    const names = found.objectives.map((each) => each.name);
    const scale = (name) => scaleOf(objective(name)?.statistic ?? name);
    const title = (name) => (name === "candidate" ? name : axisTitle(name, scale(name).unit));
    let [y, x] = [names[0], names[1] ?? "candidate"];
    let chosen = found.front[0]?.candidate;

    const count = (state) => found.counts[state] ?? 0;
    main.append(el("div", { className: "tiles" }, tile(number(count("front")), "on the front", "good"),
      tile(number(found.candidates.length), "candidates"), tile(number(count("refused")), "refused"),
      tile(number(found.spent), "full cases of the race")));

    const scaled = (name, value) => (value === null || value === undefined ? null : value * (name === "candidate" ? 1 : scale(name).factor));
    const about = (row) => found.axes.map((axis) => `${escaped(axis)}: ${escaped(row[axis])}`).join("<br>");
    const chart = el("div", { className: "chart tall", id: "search" });
    const fronts = () => {
      const traces = [];
      STATES.forEach(([state, label, symbol], place) => {
        const rows = state === "front" ? found.front : found.candidates.filter((row) => row.state === state);
        if (!rows.length) return;
        const ends = (name) => (state !== "front" || name === "candidate" ? undefined
          : { type: "data", array: rows.map((row) => scaled(name, row[`${name}_ci95`])), thickness: 1, width: 3 });
        // What short runs measured is not to be compared with full ones: it is shown on request.
        traces.push({ visible: state === "dropped" ? "legendonly" : true, x: rows.map((row) => scaled(x, row[x])), y: rows.map((row) => scaled(y, row[y])), mode: "markers", name: label,
          error_x: ends(x), error_y: ends(y), customdata: rows.map((row) => row.candidate),
          text: rows.map((row) => `candidate ${row.candidate}<br>${about(row)}${row.why ? `<br>${escaped(row.why)}` : ""}`),
          marker: { symbol, size: state === "front" ? 10 : 7, color: state === "front" ? colour(1) : state === "dropped" ? ink("dim") : colour(place === 1 ? 0 : 3) },
          hovertemplate: `%{text}<br>${escaped(title(x))}: %{x:,.5~g}<br>${escaped(title(y))}: %{y:,.5~g}<extra></extra>` });
      });
      return { traces, layout: { xaxis: { title: { text: title(x) } }, yaxis: { title: { text: title(y) } }, showlegend: true } };
    };
    const point = el("div", { id: "point" });
    const menu = el("div", { className: "controls" });
    const show = (candidate) => {
      chosen = candidate;
      const row = found.candidates.find((each) => each.candidate === candidate);
      const commands = Object.entries(found.commands[candidate] ?? {});
      point.replaceChildren(el("h3", {}, `Candidate ${candidate}: ${found.axes.map((axis) => `${axis} ${row[axis]}`).join(", ")}`),
        row.why ? el("p", { className: "hint" }, row.why) : "",
        ...commands.flatMap(([context, command]) => [el("p", { className: "hint" }, context), copyable(command)]));
      menu.replaceChildren(select("point of the front", found.front.map((each) => [`candidate ${each.candidate}`, String(each.candidate)]),
        String(chosen), (value) => show(Number(value))));
    };
    const choices = plain([...names, "candidate"]);
    main.append(section("Front", "front", warnings(found.warnings ?? []), el("div", { className: "controls" },
      select("across", choices, x, (value) => { x = value; draw(chart, fronts); }),
      select("up", choices, y, (value) => { y = value; draw(chart, fronts); })), chart,
      el("p", { className: "hint" }, `${found.objectives.map((each) => `${each.name}: ${each.goal}, ${each.over} over contexts`).join("; ")}. `
        + "Points of the front are shown as seeds measured them that the race has not seen, with 95 % intervals. Click on a point to see what it is."),
      menu, point));
    draw(chart, fronts).then(() => chart.on("plotly_click", (event) => show(event.points[0].customdata)));
    if (chosen !== undefined) show(chosen);

    const rows = found.front.map((row) => [row.candidate, ...found.axes.map((axis) => String(row[axis])),
      ...names.map((name) => withInterval(row[name], row[`${name}_ci95`])), row.holds ? "yes" : "no"]);
    const table = dataTable([{ name: "candidate", numeric: true }, ...[...found.axes, ...names, "holds"].map((name) => ({ name }))], rows);
    table.holder.id = "front-table";
    main.append(section("Points of the front", "points", table.holder));
    table.start();

    const shares = found.effects.filter((row) => row.label === "");
    if (shares.length) {
      const label = (row) => (row.with_axis ? `${row.axis} with ${row.with_axis}` : row.axis);
      const terms = unique(shares.map(label)).filter((term) => shares.some((row) => label(row) === term && row.share >= 1));
      const bars = el("div", { className: "chart", id: "shares", style: `height: ${140 + 30 * names.length * terms.length}px` });
      main.append(section("What the axes contribute", "shares-of-axes", bars,
        el("p", { className: "hint" }, "Shares of all differences between candidates, with 95 % intervals; below 1 % are left out.")));
      draw(bars, () => ({
        traces: names.map((name, place) => {
          const of = terms.map((term) => shares.find((row) => row.objective === name && label(row) === term));
          return { type: "bar", orientation: "h", name: escaped(name), y: terms.map(escaped), x: of.map((row) => row?.share ?? null),
            error_x: { type: "data", array: of.map((row) => row?.share_ci95 ?? null), thickness: 1 }, marker: { color: colour(place) },
            hovertemplate: "%{y}: %{x:,.3~g} %<extra>%{fullData.name}</extra>" };
        }),
        layout: { barmode: "group", showlegend: true, xaxis: { title: { text: "share [%]" }, range: [0, 105] }, yaxis: { autorange: "reversed", type: "category" } } }));
    }
    if (found.progress.length > 1) {
      const moved = el("div", { className: "chart", id: "moved" });
      main.append(section("How the front moved", "progress", moved));
      draw(moved, () => ({
        traces: [{ x: found.progress.map((row) => row.cases), y: found.progress.map((row) => 100 * row.hypervolume), mode: "lines+markers",
          line: { shape: "hv", color: colour(0) }, hovertemplate: "%{x:,.5~g} full cases: %{y:.1f} %<extra></extra>" }],
        layout: { xaxis: { title: { text: "full cases" } }, yaxis: { title: { text: "hypervolume [% of the end's]" }, range: [0, 105] } } }));
    }
  };

  // ---------------------------------------------------------------- the page

  if (data.notes.length) main.append(section("Passed over", "", ...data.notes.map((note) => el("p", { className: "hint" }, note))));
  if (data.search) searched();
  if (data.claims.length) claims();
  if (data.text) main.append(section("Set-up, and what deviates", "text", el("div", { className: "text", innerHTML: data.text })));
  for (const file of unique(data.runs.filter((run) => run.repeated && data.runs.length > 1).map((run) => run.file))) repeats(file);
  if (data.runs.length > 1) explorer();
  if (data.runs.length) runs();
  if (data.figures.length) {
    const figures = el("div", { className: "figures" });
    for (const { name, svg } of data.figures) {
      const image = el("img", { src: URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })), alt: name });
      figures.append(el("figure", {}, el("figcaption", {}, name), image));
    }
    main.append(section("Figures", "figures", figures));
  }
  if (data.tables.length && data.runs.length <= 1) explorer();
  main.append(section("Reproduce", "reproduce", ...data.commands.flatMap((each) => [el("h3", {}, each.about), ...commandOf(each)])));
  badge(`report by ssdlab ${data.ssdlab}, results version ${data.results_version}`);
  const bar = el("nav", {}, el("div", {}, ...links.map(([title, name]) => el("a", { href: `#${name}` }, title))));
  document.getElementById("top").after(bar);
  document.getElementById("foot").textContent = "Written by `ssdlab report`. Charts: plotly.js (MIT). Tables: DataTables (MIT).";
  document.body.dataset.ready = "yes";
})();
