/* Runs out of descriptors while ranges go on. */
#include "guest.h"
int main(void) {
    pairs("early", 100);
    limit(RLIMIT_NOFILE, 64);
    int opened = 0;
    while (open("/dev/null", O_RDONLY) >= 0) opened++;
    printf("%d opened\n", opened);
    pairs("late", 300000);
    return 0;
}
