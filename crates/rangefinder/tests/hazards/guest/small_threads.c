/* Threads with the smallest stack there may be. */
#include "guest.h"
static void *work(void *unused) { new_names("thread", 200); pairs("thread", 2000); return unused; }
int main(void) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    pairs("main", 1);
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, work, 0)) return 1;
        pthread_join(thread, 0);
    }
    return 0;
}
