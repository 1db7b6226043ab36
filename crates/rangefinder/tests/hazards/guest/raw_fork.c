/* Forks past the C library, so that no handler of it runs. */
#include "guest.h"
int main(void) {
    pairs("before", 1000);
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        pairs("child", 50000);
        new_names("child", 100);
        syscall(SYS_exit_group, 7);
    }
    pairs("parent", 50000);
    new_names("parent", 100);
    wait_for(child);
    return 0;
}
