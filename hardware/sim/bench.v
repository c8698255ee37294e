// A netlist with the delays of its cells: predictions of codewords one after the other. Each cell counts its transitions, and says
// how many there were.

`timescale 1ps/1ps

module bench;
  parameter WIDTH = 128, SEGMENTS = 36, SIZE = 1024, WORDS = 4, THRESHOLDS = 1, PERIOD = 10000;
  localparam FETCHES = SEGMENTS * SIZE / WIDTH, WEIGHT_BITS = $clog2(SIZE + 1);

  reg clock = 0, reset = 1, start = 0, counting = 0, report = 0;
  reg [WIDTH - 1:0] data = 0, pages[0:WORDS * FETCHES - 1];
  // Threshold, then weight and prediction of each word.
  reg [31:0] expected[0:2 * WORDS];
  wire fetch, done;
  wire [THRESHOLDS - 1:0] above;
  wire [THRESHOLDS * WEIGHT_BITS - 1:0] threshold;
  wire [$clog2(FETCHES) - 1:0] address;
  wire [WEIGHT_BITS - 1:0] weight;
  rp rp (.clock(clock), .reset(reset), .start(start), .threshold(threshold), .fetch(fetch),
         .address(address), .data(data), .done(done), .above(above), .weight(weight));

  always #(PERIOD / 2) clock = !clock;

  genvar k;
  generate
    for (k = 0; k < THRESHOLDS; k = k + 1) begin : threshold_
      assign threshold[k * WEIGHT_BITS +: WEIGHT_BITS] = expected[0][WEIGHT_BITS - 1:0] + k * SIZE / 32;
    end
    for (k = 0; k < WIDTH; k = k + 1) begin : input_
      transitions #("data") count_data (data[k]);
    end
  endgenerate

  // A word is on the bus a while after the edge that follows its address.
  integer word, cycles, differ;
  always @(posedge clock) if (fetch) data <= #(PERIOD / 10) pages[word * FETCHES + address];

  initial begin
    $readmemh("pages.hex", pages);
    $readmemh("expected.hex", expected);
    word = 0;
    cycles = 0;
    differ = 0;
    repeat (4) @(negedge clock);
    reset = 0;
    // The first word sets every register.
    for (word = 0; word < WORDS; word = word + 1) begin
      @(negedge clock) start = 1;
      counting = word > 0;
      @(negedge clock) start = 0;
      cycles = cycles + counting;
      while (!done) @(negedge clock) cycles = cycles + counting;
      counting = 0;
      if (weight !== expected[2 * word + 1] || above[0] !== expected[2 * word + 2][0]) differ = differ + 1;
    end
    report = 1;
    #1 $display("bench words %0d", WORDS - 1);
    $display("bench cycles %0d", cycles);
    $display("bench differ %0d", differ);
    $finish;
  end
endmodule
