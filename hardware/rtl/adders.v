// The cells of which all sums are made. For synthesis cells.v stands in their place: the library's own.

module full_adder (input a, input b, input c, output carry, output sum);
  assign sum = a ^ b ^ c;
  assign carry = a & b | c & (a | b);
endmodule

module half_adder (input a, input b, output carry, output sum);
  assign sum = a ^ b;
  assign carry = a & b;
endmodule
