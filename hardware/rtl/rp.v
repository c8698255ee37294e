// The read-retry predictor of a plane (hpca24 Fig. 16): whether the weight of the pruned syndromes of a rearranged codeword is above
// a threshold, or which of several, by words of the page register.
//
// SEGMENTS circulants of SIZE bits are the first block row of the code's matrix; SIZE and WIDTH are powers of two. The page
// register gives a word in the cycle after its address. The thresholds stay as they are until `done`.

module rp #(parameter SEGMENTS = 36, parameter SIZE = 1024, parameter WIDTH = 128,
            // Words are kept in a register before they are XORed, as in Fig. 16.
            parameter SEGMENT_REGISTER = 0,
            // The adders see complete syndromes only, and are still meanwhile.
            parameter ISOLATED = 0,
            // The first says whether the page fails, the others what it needs then.
            parameter THRESHOLDS = 1,
            parameter SEGMENT_BITS = $clog2(SEGMENTS), parameter GROUP_BITS = $clog2(SIZE / WIDTH),
            parameter COUNT_BITS = $clog2(WIDTH), parameter WEIGHT_BITS = $clog2(SIZE + 1)) (
  input clock, input reset, input start, input [THRESHOLDS * WEIGHT_BITS - 1:0] threshold,
  output fetch, output [SEGMENT_BITS + GROUP_BITS - 1:0] address, input [WIDTH - 1:0] data,
  output done, output [THRESHOLDS - 1:0] above, output [WEIGHT_BITS - 1:0] weight);

  wire continues, complete;
  control #(.SEGMENTS(SEGMENTS), .GROUP_BITS(GROUP_BITS), .LATENCY(SEGMENT_REGISTER + 1)) control (
    .clock(clock), .reset(reset), .start(start), .fetch(fetch),
    .segment(address[SEGMENT_BITS + GROUP_BITS - 1:GROUP_BITS]), .group(address[GROUP_BITS - 1:0]),
    .continues(continues), .complete(complete), .done(done));

  wire [WIDTH - 1:0] word, syndromes;
  generate
    if (SEGMENT_REGISTER != 0) begin : registered
      segment #(.WIDTH(WIDTH)) segment (.clock(clock), .data(data), .word(word));
    end else begin : direct
      assign word = data;
    end
  endgenerate
  syndrome #(.WIDTH(WIDTH)) syndrome (.clock(clock), .continues(continues), .word(word), .syndromes(syndromes));

  // A group's weight is of its complete syndromes: either these are let through, or what the adders make of all of them.
  wire [WIDTH - 1:0] seen;
  wire [COUNT_BITS - 1:0] ones_seen, count;
  wire one;
  ones #(.BITS(COUNT_BITS)) ones (.bits(seen[WIDTH - 2:0]), .count(ones_seen));
  generate
    if (ISOLATED != 0) begin : ahead
      gate #(.WIDTH(WIDTH)) gate (.bits(syndromes), .complete(complete), .passed(seen));
      assign {one, count} = {seen[WIDTH - 1], ones_seen};
    end else begin : behind
      assign seen = syndromes;
      gate #(.WIDTH(COUNT_BITS + 1)) gate (
        .bits({seen[WIDTH - 1], ones_seen}), .complete(complete), .passed({one, count}));
    end
  endgenerate
  accumulator #(.WEIGHT(WEIGHT_BITS), .COUNT(COUNT_BITS)) accumulator (
    .clock(clock), .clear(start), .count(count), .one(one), .weight(weight));
  compare #(.WEIGHT(WEIGHT_BITS), .THRESHOLDS(THRESHOLDS)) compare (
    .weight(weight), .threshold(threshold), .above(above));
endmodule
