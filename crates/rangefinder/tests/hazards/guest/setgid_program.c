/* chmod: 2755
 * Has a group that who starts it has not. */
#include "guest.h"
int main(void) {
    printf("%s\n", getgid() == getegid() ? "same group" : "another group");
    pairs("step", 1000);
    return 0;
}
