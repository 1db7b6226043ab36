/* Ignores SIGTERM and SIGINT, says it is ready, and never ends. */
#include <signal.h>
#include <unistd.h>

int main(void) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    if (write(1, "ready\n", 6) != 6) return 1;
    for (;;) pause();
}
