/* Says which descriptors are open while and after ranges are. */
#include "guest.h"
#include <dirent.h>
static void list(const char *when) {
    printf("%s:", when);
    for (int number = 0; number < 256; number++) {
        if (fcntl(number, F_GETFD) >= 0) printf(" %d", number);
    }
    puts("");
}
int main(void) {
    list("before");
    nvtxRangePushA("outer");
    list("inside");
    pairs("step", 100000);
    nvtxRangePop();
    list("after");
    return 0;
}
