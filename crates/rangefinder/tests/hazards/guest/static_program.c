/* cc: -static
 * Has a C library of its own inside, and no usable loader. */
#include "guest.h"
static void *work(void *unused) { pairs("thread", 1000); return unused; }
int main(void) {
    pthread_t thread;
    pairs("step", 1000);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    pid_t child = fork();
    if (child == 0) { pairs("child", 1000); _exit(3); }
    wait_for(child);
    return 4;
}
