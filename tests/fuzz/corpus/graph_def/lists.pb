

xPlaceholder*
dtype0
!
i	IdentityNxx*
T
2
#
pPackii:1*
N*
T0
"
uUnpackp*
T0*	
num
-
fFusedBatchNormpuu:1xx*
T0

hMyOpf^x*
T0

rReluh:1*
T0
,
cCastr"/gpu:0*

DstT0*

SrcT0