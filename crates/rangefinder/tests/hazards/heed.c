/* Becomes the program that its arguments name, which ignores no signal, not even those of the C library: whoever started us
 * may have made us ignore them. */
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    unsigned long action[4] = {0};
    if (argc < 2 || syscall(SYS_rt_sigaction, 32, action, 0, 8) || syscall(SYS_rt_sigaction, 33, action, 0, 8)) return 1;
    execvp(argv[1], argv + 1);
    return 127;
}
