// The syndromes of a group: the XOR of its words. The first is not XORed with what was there.

module syndrome #(parameter WIDTH = 128) (
  input clock, input continues, input [WIDTH - 1:0] word, output reg [WIDTH - 1:0] syndromes);
  always @(posedge clock) syndromes <= word ^ (syndromes & {WIDTH{continues}});
endmodule
