/* Threads that may be cancelled at any instruction are, in the middle of ranges. */
#include "guest.h"
static void *work(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    for (;;) pairs("step", 1000);
    return unused;
}
int main(void) {
    /* The library is loaded with the first range. */
    pairs("first", 1);
    int cancelled = 0;
    for (int round = 0; round < 60; round++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, work, 0);
        usleep(500 + round * 37);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d cancelled\n", cancelled);
    return 0;
}
