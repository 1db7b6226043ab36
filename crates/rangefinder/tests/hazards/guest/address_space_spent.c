/* Takes all the address space it may have, then opens its first range. */
#include "guest.h"
int main(void) {
    limit(RLIMIT_AS, 64 << 20);
    for (size_t size = 32 << 20; size >= 65536; size /= 2) {
        while (malloc(size)) {}
    }
    pairs("step", 100000);
    new_names("name", 1000);
    puts("ended");
    return 0;
}
