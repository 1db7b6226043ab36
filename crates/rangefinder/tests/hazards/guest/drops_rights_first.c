/* Becomes another user before its first range. */
#include "guest.h"
int main(void) {
    if (setgid(65534) || setuid(65534)) return 9;
    pairs("step", 1000);
    puts("ended");
    return 0;
}
