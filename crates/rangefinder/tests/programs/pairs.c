/* `pairs N`: opens and closes a range N times and prints what one pair takes. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    long pairs = argc > 1 ? atol(argv[1]) : 1000000;
    nvtxRangePushA("warm-up");
    nvtxRangePop();
    double start = now();
    for (long i = 0; i < pairs; i++) {
        nvtxRangePushA("decode_step");
        nvtxRangePop();
    }
    printf("%.2f\n", (now() - start) / pairs * 1e9);
    return 0;
}
