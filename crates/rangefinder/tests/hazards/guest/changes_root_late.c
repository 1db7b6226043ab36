/* Changes its root directory while ranges go on. */
#include "guest.h"
int main(void) {
    mkdir("jail", 0755);
    pairs("early", 1000);
    if (chroot("jail") || chdir("/")) return 9;
    pairs("late", 300000);
    puts("ended");
    return 0;
}
