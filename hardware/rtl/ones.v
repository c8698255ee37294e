// How many of 2^BITS - 1 bits are ones, by the fewest full adders that can tell: 2^BITS - 1 - BITS.
//
// A tree: a node of level j adds two numbers of j - 1 bits, with one bit more as its carry in.

module ones #(parameter BITS = 7) (input [(1 << BITS) - 2:0] bits, output [BITS - 1:0] count);
  genvar j, n, k;
  generate
    for (j = 1; j <= BITS; j = j + 1) begin : level
      localparam NODES = 1 << (BITS - j);
      // The bits before it are taken by the levels before.
      localparam FIRST = (1 << BITS) - 2 * NODES;
      // Of node n the bits from n * j on.
      wire [NODES * j - 1:0] sums;
      for (n = 0; n < NODES; n = n + 1) begin : node
        wire [j - 1:0] carry;
        assign carry[0] = bits[FIRST + n];
        for (k = 0; k < j - 1; k = k + 1) begin : place
          full_adder adder (
            .a(level[j - 1].sums[2 * n * (j - 1) + k]), .b(level[j - 1].sums[(2 * n + 1) * (j - 1) + k]), .c(carry[k]),
            .carry(carry[k + 1]), .sum(sums[n * j + k]));
        end
        assign sums[n * j + j - 1] = carry[j - 1];
      end
    end
  endgenerate
  assign count = level[BITS].sums;
endmodule
