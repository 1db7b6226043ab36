/* 1,000 names of a megabyte each. */
#include "guest.h"
int main(void) {
    pairs("first", 1);
    char *name = malloc((1 << 20) + 16);
    long before = resident_kb();
    for (int i = 0; i < 1000; i++) {
        memset(name, 'x', 1 << 20);
        snprintf(name + (1 << 20), 16, "%d", i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    printf("%s\n", resident_kb() - before < 200 * 1024 ? "memory as before" : "memory grew");
    return 0;
}
