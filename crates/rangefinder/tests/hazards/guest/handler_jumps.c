/* A signal handler leaves by a jump, now and then out of the middle of a range. */
#include "guest.h"
#include <setjmp.h>
#include <sys/time.h>
static sigjmp_buf back;
static volatile sig_atomic_t ready;
static void handle(int unused) { (void)unused; if (ready) siglongjmp(back, 1); }
int main(void) {
    pairs("first", 1);
    signal(SIGALRM, handle);
    struct itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, 0);
    volatile int jumps = 0;
    while (jumps < 500) {
        if (sigsetjmp(back, 1) == 0) {
            ready = 1;
            for (;;) new_names("name", 50);
        }
        ready = 0;
        jumps++;
    }
    printf("%d jumps\n", jumps);
    return 0;
}
