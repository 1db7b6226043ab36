/* 20,000 threads, one after the other, with a range each. */
#include "guest.h"
static void *work(void *unused) { pairs("thread", 1); return unused; }
int main(void) {
    pairs("first", 1);
    long before = resident_kb();
    for (int i = 0; i < 20000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, work, 0)) return 1;
        pthread_join(thread, 0);
    }
    printf("%s\n", resident_kb() - before < 20 * 1024 ? "memory as before" : "memory grew");
    return 0;
}
