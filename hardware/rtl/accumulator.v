// weight + count + one, of which only `weight` is long: full adders where both have bits, half adders above.

module accumulator #(parameter WEIGHT = 11, parameter COUNT = 7) (
  input [WEIGHT - 1:0] weight, input [COUNT - 1:0] count, input one, output [WEIGHT - 1:0] sum);
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
endmodule
