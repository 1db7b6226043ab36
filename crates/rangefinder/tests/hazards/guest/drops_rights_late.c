/* Becomes another user while ranges go on. */
#include "guest.h"
int main(void) {
    pairs("early", 1000);
    if (setgid(65534) || setuid(65534)) return 9;
    pairs("late", 300000);
    puts("ended");
    return 0;
}
