// Every scalar operation of the floating-point unit, on codes of any format.
#pragma once

#include "softamp/numerics/arithmetic.h"
#include "softamp/numerics/compare.h"
#include "softamp/numerics/convert.h"
