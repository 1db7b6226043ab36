/* A forked child uses a file under the number of a descriptor that a guest had in the parent. */
#include "guest.h"
int main(void) {
    pairs("parent", 10);
    for (int number = 3; number < 64; number++) close(number);
    int file = open("log.txt", O_RDWR | O_CREAT | O_APPEND, 0600);
    pid_t child = fork();
    if (child == 0) {
        pairs("child", 10);
        int wrote = (int)write(file, "child\n", 6);
        printf("wrote %d, %s\n", wrote, wrote < 0 ? strerror(errno) : "fine");
        fflush(stdout);
        _exit(wrote == 6 ? 0 : 1);
    }
    wait_for(child);
    return write(file, "parent\n", 7) == 7 ? 0 : 1;
}
