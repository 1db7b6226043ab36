/* May write no file at all. */
#include "guest.h"
int main(void) {
    limit(RLIMIT_FSIZE, 0);
    pairs("step", 1000);
    return 5;
}
