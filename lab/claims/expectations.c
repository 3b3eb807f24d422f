// The expected verdicts as a string: the build makes <expectations_made.h> of expectations.txt.
#include "lab/claims/claims.h"

#include <expectations_made.h>

const char expectations_built_in[] = EXPECTATIONS "";
