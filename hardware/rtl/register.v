// Bits that are kept for a cycle.

module register #(parameter WIDTH = 128) (input clock, input [WIDTH - 1:0] next, output reg [WIDTH - 1:0] value);
  always @(posedge clock) value <= next;
endmodule
