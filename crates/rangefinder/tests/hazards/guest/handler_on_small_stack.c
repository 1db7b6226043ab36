/* A handler on an alternate stack of the smallest size opens ranges. */
#include "guest.h"
static void handle(int unused) {
    (void)unused;
    static char name[] = "handler a";
    for (int i = 0; i < 20; i++) {
        name[8] = 'a' + i;
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}
int main(void) {
    pairs("first", 1);
    long size = sysconf(_SC_MINSIGSTKSZ) + 2048;
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    sigaltstack(&stack, 0);
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, 0);
    for (int i = 0; i < 10; i++) raise(SIGUSR1);
    puts("ended");
    return 0;
}
