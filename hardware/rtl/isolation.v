// Keeps the adders still until the syndromes of a group are complete.

module isolation #(parameter WIDTH = 128) (
  input [WIDTH - 1:0] syndromes, input complete, output [WIDTH - 1:0] counted);
  assign counted = syndromes & {WIDTH{complete}};
endmodule
