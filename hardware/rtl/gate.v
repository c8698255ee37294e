// Bits that are zero unless a group is complete.

module gate #(parameter WIDTH = 8) (input [WIDTH - 1:0] bits, input complete, output [WIDTH - 1:0] passed);
  assign passed = bits & {WIDTH{complete}};
endmodule
