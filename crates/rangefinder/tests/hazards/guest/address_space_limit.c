/* May have so much address space that its own 96 MiB fit, and not much more. */
#include "guest.h"
int main(void) {
    pairs("early", 1000);
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1) return 1;
    fclose(file);
    limit(RLIMIT_AS, pages * 4096 + (100 << 20));
    pairs("step", 300000);
    void *blocks[96];
    int got = 0;
    for (; got < 96; got++) {
        blocks[got] = malloc(1 << 20);
        if (!blocks[got]) break;
        memset(blocks[got], 1, 1 << 20);
    }
    printf("%d of 96 MiB\n", got);
    pairs("late", 300000);
    return got == 96 ? 0 : 1;
}
