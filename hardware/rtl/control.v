// Which word of the page register is fetched, and what becomes of it: each group of syndromes takes a word of every segment.

module control #(parameter SEGMENTS = 36, parameter GROUP_BITS = 3, parameter LATENCY = 1,
                 parameter SEGMENT_BITS = $clog2(SEGMENTS)) (
  input clock, input reset, input start,
  output reg fetch, output reg [SEGMENT_BITS - 1:0] segment, output reg [GROUP_BITS - 1:0] group,
  // The word that is XORed now is not the first of its group; the syndromes of a group are complete; so is the weight.
  output continues, output complete, output reg done);
  localparam [SEGMENT_BITS - 1:0] LAST = SEGMENTS - 1;
  wire last = segment == LAST;
  wire final_ = last && &group;

  // What is said of a word travels as long as the word does, unless a prediction is begun anew.
  reg [LATENCY:0] continuing, closing, ending;
  assign continues = continuing[LATENCY - 1];
  assign complete = closing[LATENCY];
  wire [LATENCY:0] kept = {LATENCY + 1{!reset && !start}};

  always @(posedge clock) begin
    fetch <= !reset && (start || fetch && !final_);
    segment <= start || last ? {SEGMENT_BITS{1'b0}} : segment + 1'b1;
    group <= start ? {GROUP_BITS{1'b0}} : last ? group + 1'b1 : group;
    continuing <= {continuing[LATENCY - 1:0], segment != 0};
    closing <= {closing[LATENCY - 1:0], fetch && last} & kept;
    ending <= {ending[LATENCY - 1:0], fetch && final_} & kept;
    done <= (done || ending[LATENCY]) && kept[0];
  end
endmodule
