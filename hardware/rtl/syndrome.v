// The syndromes of a group: the XOR of its words, of which the first opens it.

module syndrome #(parameter WIDTH = 128) (
  input clock, input opens, input [WIDTH - 1:0] word, output reg [WIDTH - 1:0] syndromes);
  always @(posedge clock) syndromes <= word ^ (syndromes & {WIDTH{!opens}});
endmodule
