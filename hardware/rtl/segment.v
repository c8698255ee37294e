// Words as they come from the page register, for a cycle.

module segment #(parameter WIDTH = 128) (input clock, input [WIDTH - 1:0] data, output reg [WIDTH - 1:0] word);
  always @(posedge clock) word <= data;
endmodule
