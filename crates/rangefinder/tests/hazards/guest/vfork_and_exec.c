/* Opens ranges in the child of a vfork, and executes itself there. */
#include "guest.h"
int main(int argc, char **argv) {
    if (argc > 1) { pairs("executed", 100); return 6; }
    pairs("before", 100);
    for (int i = 0; i < 20; i++) {
        pid_t child = vfork();
        if (child == 0) {
            nvtxRangePushA("in vfork");
            nvtxRangePop();
            execl("/proc/self/exe", argv[0], "again", (char *)0);
            _exit(9);
        }
        wait_for(child);
        pairs("between", 1000);
    }
    return 0;
}
