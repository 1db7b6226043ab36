/* Writes past its own limit, and dies of it. */
#include "guest.h"
int main(void) {
    limit(RLIMIT_FSIZE, 512 << 10);
    pairs("step", 1000);
    char block[4096] = {1};
    int file = open("large.bin", O_RDWR | O_CREAT | O_TRUNC, 0600);
    while (write(file, block, sizeof block) > 0) pairs("write", 10);
    return 0;
}
