// Whether a page is predicted to fail.

module compare #(parameter WEIGHT = 11) (
  input [WEIGHT - 1:0] weight, input [WEIGHT - 1:0] threshold, output retry);
  assign retry = weight > threshold;
endmodule
