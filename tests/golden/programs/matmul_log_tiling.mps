* Source:     Pyomo MPS Writer
* Format:     Free MPS
*
NAME log_space_tiling_LP_of_matmul
OBJSENSE
 MAX
ROWS
 N  operations
 L  c_u_footprint(A)_
 L  c_u_footprint(B)_
 L  c_u_footprint(C)_
COLUMNS
     t(i) operations 1
     t(i) c_u_footprint(A)_ 1
     t(i) c_u_footprint(C)_ 1
     t(j) operations 1
     t(j) c_u_footprint(B)_ 1
     t(j) c_u_footprint(C)_ 1
     t(k) operations 1
     t(k) c_u_footprint(A)_ 1
     t(k) c_u_footprint(B)_ 1
RHS
     RHS c_u_footprint(A)_ 6.9314718055994531
     RHS c_u_footprint(B)_ 6.9314718055994531
     RHS c_u_footprint(C)_ 6.9314718055994531
BOUNDS
 LO BOUND t(i) 0
 UP BOUND t(i) 7.6009024595420822
 LO BOUND t(j) 0
 UP BOUND t(j) 7.3132203870903014
 LO BOUND t(k) 0
 UP BOUND t(k) 7.3132203870903014
ENDATA
