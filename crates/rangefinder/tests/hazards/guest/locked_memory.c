/* Keeps all of its memory, present and future, in RAM, within a limit. */
#include "guest.h"
#include <sys/mman.h>
int main(void) {
    pairs("early", 1000);
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) puts("not locked");
    pairs("late", 300000);
    new_names("late", 1000);
    puts("ended");
    return 0;
}
