/* Counts SIGINT for half a second after the first one, then exits with 40 + count. */
#include <signal.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t count;

static void on_int(int signal) {
    (void)signal;
    count++;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_int};
    sigaction(SIGINT, &action, 0);
    if (write(1, "ready\n", 6) != 6) return 1;
    while (!count) pause();
    struct timespec left = {0, 500 * 1000 * 1000};
    while (nanosleep(&left, &left)) {
    }
    return 40 + count;
}
