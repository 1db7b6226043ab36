/* May write files of 256 KiB only; the trace would be larger. */
#include "guest.h"
int main(void) {
    limit(RLIMIT_FSIZE, 256 << 10);
    pairs("step", 200000);
    puts("ended");
    return 0;
}
