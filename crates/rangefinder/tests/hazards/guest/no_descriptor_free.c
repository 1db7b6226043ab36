/* Has no descriptor left when it opens its first range. */
#include "guest.h"
int main(void) {
    limit(RLIMIT_NOFILE, 8);
    int opened = 0;
    while (open("/dev/null", O_RDONLY) >= 0) opened++;
    pairs("step", 1000);
    printf("%d opened, then %s\n", opened, strerror(errno));
    return 0;
}
