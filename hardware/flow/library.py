"""Characterised cells for other tools: a Liberty library, and Verilog models that have delays and count transitions."""

from __future__ import annotations

from pathlib import Path

from cells import LIBRARY, LOADS, MIDDLE, SETUP, SLEWS, VOLTAGE, Arc, Cell

WIRE_LOAD = 5.0
"""Of the wires between cells, for each input of a net [fF]: 30 um of 0.15 to 0.2 fF (`assumed`: nothing is placed)."""

HEAD = f"""library (sky130_simulated) {{
  delay_model : table_lookup;
  time_unit : "1ns";
  voltage_unit : "1V";
  current_unit : "1mA";
  pulling_resistance_unit : "1kohm";
  leakage_power_unit : "1nW";
  capacitive_load_unit (1, ff);
  nom_process : 1; nom_voltage : {VOLTAGE}; nom_temperature : 25;
  input_threshold_pct_rise : 50; input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20; slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80; slew_upper_threshold_pct_fall : 80;
  wire_load (between_cells) {{ resistance : 0; capacitance : {WIRE_LOAD}; area : 0; slope : 1; fanout_length (1, 1); }}
  default_wire_load : between_cells;
"""


def numbers(values: tuple[float, ...] | list[float]) -> str:
    return '"' + ", ".join(f"{value:g}" for value in values) + '"'


def timing(of: Arc, loads: list[float]) -> str:
    kind = (
        "timing_type : rising_edge; timing_sense : non_unate;"
        if of.sense == "rising_edge"
        else f"timing_sense : {of.sense};"
    )
    axes = f"index_1 ({numbers(SLEWS)}); index_2 ({numbers(loads)});"
    tables = {
        "cell_rise": of.rise,
        "cell_fall": of.fall,
        "rise_transition": of.rise_slew,
        "fall_transition": of.fall_slew,
    }
    lines = [f"{name} (delays) {{ {axes} values ({', '.join(map(numbers, rows))}); }}" for name, rows in tables.items()]
    return "\n      ".join([f'timing () {{ related_pin : "{of.source}"; {kind}', *lines]) + " }"


def liberty(cells: list[Cell], path: Path) -> None:
    text = [
        HEAD,
        "  lu_table_template (delays) {",
        "    variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;",
    ]
    text.append(f"    index_1 ({numbers(SLEWS)}); index_2 ({numbers(LOADS)}); }}")
    for cell in cells:
        text.append(f"  cell ({LIBRARY}__{cell.name}) {{ area : {cell.area};")
        if cell.clocked:
            text.append('    ff (IQ, IQN) { clocked_on : "CLK"; next_state : "D"; }')
        for name, pin in cell.pins.items():
            text.append(f"    pin ({name}) {{ direction : input; capacitance : {pin.capacitance:.4f};")
            if cell.clocked and name == "CLK":
                text.append("      clock : true;")
            elif cell.clocked:
                for kind, value in (("setup", SETUP), ("hold", 0)):
                    edges = " ".join(
                        f'{edge}_constraint (scalar) {{ values ("{value}"); }}' for edge in ("rise", "fall")
                    )
                    text.append(f'      timing () {{ related_pin : "CLK"; timing_type : {kind}_rising; {edges} }}')
            text.append("    }")
        for output, equation in cell.equations.items():
            text.append(f'    pin ({output}) {{ direction : output; function : "{equation}";')
            text.append(f"      max_capacitance : {cell.loads[-1]:g};")
            text += [f"      {timing(of, cell.loads)}" for of in cell.arcs if of.output == output]
            text.append("    }")
        text.append("  }")
    path.write_text("\n".join([*text, "}\n"]))


def delay(cell: Cell, output: str) -> int:
    """Of an output, the mean over its inputs and edges, at a slew and load in the middle [ps]."""
    total, count = 0.0, 0
    share = [(value - first) / (last - first) for value, (first, last) in zip(MIDDLE, (SLEWS, LOADS), strict=True)]
    for of in cell.arcs:
        for table in (of.rise, of.fall) if of.output == output else ():
            by_slew = [row[0] + share[1] * (row[1] - row[0]) for row in table]
            total += by_slew[0] + share[0] * (by_slew[1] - by_slew[0])
            count += 1
    return round(1000 * total / count)


def verilog(cells: list[Cell], path: Path) -> None:
    """Models: functions alone, and where TIMED is defined with one delay an output and a count of its transitions."""
    text = ["`timescale 1ps/1ps"]
    for cell in cells:
        ports = [f"input {name}" for name in cell.pins] + [f"output {name}" for name in cell.equations]
        text.append(f"module {LIBRARY}__{cell.name} ({', '.join(ports)});")
        for output, equation in cell.equations.items():
            late = f"`ifdef TIMED\n  #{delay(cell, output)}\n`endif\n "
            if cell.clocked:
                text.append(f"  reg kept;\n  assign {output} = kept;\n  always @(posedge CLK) kept <=\n{late} D;")
            else:
                text.append(f"  assign\n{late} {output} = {equation.replace('!', '~')};")
            text.append(f'`ifdef TIMED\n  transitions #("{output}") count_{output} ({output});\n`endif')
        text.append("endmodule")
    text.append(
        "`ifdef TIMED\n"
        'module transitions #(parameter PIN = "") (input net);\n'
        "  integer count = 0;\n"
        "  always @(net) if (bench.counting) count = count + 1;\n"
        '  always @(posedge bench.report) $display("%m %s %0d", PIN, count);\n'
        "endmodule\n`endif"
    )
    path.write_text("\n".join([*text, ""]))
