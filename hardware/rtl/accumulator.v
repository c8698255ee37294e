// The weight so far and that of a group. One of its bits has no place in a count of full adders, and is the carry in.

module accumulator #(parameter WEIGHT = 11, parameter COUNT = 7) (
  input clock, input clear, input [COUNT - 1:0] count, input one, output reg [WEIGHT - 1:0] weight);
  wire [WEIGHT - 1:0] sum;
  wire [WEIGHT:0] carry;
  assign carry[0] = one;

  genvar k;
  generate
    for (k = 0; k < WEIGHT; k = k + 1) begin : place
      if (k < COUNT)
        full_adder adder (.a(weight[k]), .b(count[k]), .c(carry[k]), .carry(carry[k + 1]), .sum(sum[k]));
      else
        half_adder adder (.a(weight[k]), .b(carry[k]), .carry(carry[k + 1]), .sum(sum[k]));
    end
  endgenerate
  always @(posedge clock) weight <= sum & {WEIGHT{!clear}};
endmodule
