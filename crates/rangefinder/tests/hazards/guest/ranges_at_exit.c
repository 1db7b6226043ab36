/* Opens ranges in what runs at its exit, and in a destructor of a thread's data. */
#include "guest.h"
static void late(void) { pairs("at exit", 10); puts("at exit"); }
static void gone(void *unused) { (void)unused; pairs("thread ends", 10); }
static void *work(void *key) { pthread_setspecific(*(pthread_key_t *)key, key); pairs("thread", 10); return 0; }
int main(void) {
    atexit(late);
    pthread_key_t key;
    pthread_key_create(&key, gone);
    pthread_t thread;
    pthread_create(&thread, 0, work, &key);
    pthread_join(thread, 0);
    return 2;
}
