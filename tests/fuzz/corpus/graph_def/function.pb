
0
xConst*
dtype0*
valueBj€x
 
yfnx*
fR
fn
T02
0

fn"	
Ttype
nRelu*
TJT"
yn:0"¸