/* Forks while other threads are in the middle of everything. */
#include "guest.h"
static volatile int done;
static void *work(void *unused) {
    for (int i = 0; !done; i++) {
        pairs("thread", 50);
        new_names("thread", 20);
    }
    return unused;
}
int main(void) {
    pairs("first", 1);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, work, 0);
    int fine = 0;
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        if (child == 0) {
            pairs("child", 100);
            new_names("child", 30);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        fine += status == 0;
    }
    done = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    printf("%d children\n", fine);
    return 0;
}
