/* A loop: `paced ITERATIONS STEP POST [EXIT]` works STEP units in each `step`, and POST units in `post` inside it. */
#include <stdint.h>
#include <stdlib.h>

#include <nvtx3/nvToolsExt.h>

static volatile uint32_t result;

static void work(int units) {
    for (int unit = 0; unit < units; unit++) {
        uint32_t state = result + 1;
        for (int at = 0; at < 20000; at++) {
            state = state * 1664525u + 1013904223u;
        }
        result = state;
    }
}

int main(int count, char **words) {
    int iterations = count > 1 ? atoi(words[1]) : 20;
    int step = count > 2 ? atoi(words[2]) : 4, post = count > 3 ? atoi(words[3]) : 1;
    for (int at = 0; at < iterations; at++) {
        nvtxRangePushA("step");
        work(step);
        nvtxRangePushA("post");
        work(post);
        nvtxRangePop();
        nvtxRangePop();
    }
    return count > 4 ? atoi(words[4]) : 0;
}
