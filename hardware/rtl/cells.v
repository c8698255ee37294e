// adders.v by cells of sky130_fd_sc_hd.

module full_adder (input a, input b, input c, output carry, output sum);
  sky130_fd_sc_hd__fa_1 cell_ (.A(a), .B(b), .CIN(c), .COUT(carry), .SUM(sum));
endmodule

module half_adder (input a, input b, output carry, output sum);
  sky130_fd_sc_hd__ha_1 cell_ (.A(a), .B(b), .COUT(carry), .SUM(sum));
endmodule
