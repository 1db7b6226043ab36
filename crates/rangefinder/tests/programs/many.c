/* `many THREADS RANGES`: each thread opens and closes that many ranges called
 * `before`, the main thread forks, and both processes do it again with `after`. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long ranges;
static const char *name = "before";

static void *work(void *unused) {
    for (long i = 0; i < ranges; i++) {
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    return unused;
}

static void all(int threads) {
    pthread_t started[threads];
    for (int i = 0; i < threads; i++) pthread_create(&started[i], 0, work, 0);
    for (int i = 0; i < threads; i++) pthread_join(started[i], 0);
}

int main(int argc, char **argv) {
    if (argc != 3) return 9;
    int threads = atoi(argv[1]);
    ranges = atol(argv[2]);
    nvtxRangePushA("around");
    all(threads);
    pid_t child = fork();
    name = "after";
    all(threads);
    nvtxRangePop();
    if (child == 0) return 0;
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
