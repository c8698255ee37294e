// What a page is predicted to need: which of some thresholds its weight is above. One says whether it fails; more say by how much.

module compare #(parameter WEIGHT = 11, parameter THRESHOLDS = 1) (
  input [WEIGHT - 1:0] weight, input [THRESHOLDS * WEIGHT - 1:0] threshold, output [THRESHOLDS - 1:0] above);
  genvar k;
  generate
    for (k = 0; k < THRESHOLDS; k = k + 1) begin : each
      assign above[k] = weight > threshold[k * WEIGHT +: WEIGHT];
    end
  endgenerate
endmodule
