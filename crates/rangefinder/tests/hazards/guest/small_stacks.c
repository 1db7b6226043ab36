/* Coroutines with 4 kB of stack open ranges with new names; a page that may not be touched lies
 * below each stack. */
#include "guest.h"
#include <sys/mman.h>
#include <ucontext.h>
static ucontext_t home, away;
static void work(void) {
    for (int i = 0; i < 3000; i++) {
        nvtxRangePushA("coroutine");
        nvtxRangePop();
    }
    static char name[32];
    for (int i = 0; i < 500; i++) {
        name[0] = 'a' + i % 26, name[1] = 'a' + i / 26;
        nvtxRangePushA(name);
        nvtxRangePop();
    }
    nvtxDomainRegisterStringA(nvtxDomainCreateA("coroutine"), "registered");
}
int main(void) {
    pairs("main", 1);
    for (int i = 0; i < 4; i++) {
        char *stack = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(stack + 4096, 4096, PROT_READ | PROT_WRITE);
        getcontext(&away);
        away.uc_stack.ss_sp = stack + 4096;
        away.uc_stack.ss_size = 4096;
        away.uc_link = &home;
        makecontext(&away, work, 0);
        swapcontext(&home, &away);
    }
    puts("ended");
    return 0;
}
