/* Changes its root directory before its first range, so that no library can be found there. */
#include "guest.h"
int main(void) {
    mkdir("jail", 0755);
    if (chroot("jail") || chdir("/")) return 9;
    usleep(700 * 1000);
    pairs("step", 1000);
    puts("ended");
    return 0;
}
