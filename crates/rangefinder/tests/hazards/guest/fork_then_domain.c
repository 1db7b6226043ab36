/* The first thing a forked child does is to make domains and register strings, with an environment that
 * it has emptied. */
#include "guest.h"
static void in_domain(const char *name, int count) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA(name);
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    for (int i = 0; i < count; i++) {
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    }
}
int main(void) {
    in_domain("shared", 100);
    pid_t child = fork();
    if (child == 0) {
        extern char **environ;
        static char *none[] = {0};
        environ = none;
        in_domain("shared", 100);
        in_domain("own", 100);
        _exit(0);
    }
    wait_for(child);
    return 0;
}
