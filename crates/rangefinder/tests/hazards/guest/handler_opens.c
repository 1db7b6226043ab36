/* A signal handler opens ranges, also with names that are new, while the program is inside
 * `malloc` or in the middle of a range itself. */
#include "guest.h"
#include <sys/time.h>
static volatile sig_atomic_t handled;
static void handle(int unused) {
    (void)unused;
    static char name[] = "handler 0000";
    int number = handled++;
    for (int at = 11; at > 7; at--, number /= 10) name[at] = '0' + number % 10;
    nvtxRangePushA(name);
    nvtxRangePushA("handler");
    nvtxRangePop();
    nvtxRangePop();
}
static void *work(void *unused) {
    unsigned seed = 1;
    while (handled < 2000) {
        free(malloc(16 + rand_r(&seed) % 100000));
        pairs("step", 20);
        new_names("name", 3);
    }
    return unused;
}
int main(void) {
    pairs("first", 1);
    signal(SIGALRM, handle);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, 0);
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    pthread_join(thread, 0);
    puts("ended");
    return 0;
}
