/* A signal handler registers strings and makes domains. */
#include "guest.h"
#include <sys/time.h>
static volatile sig_atomic_t handled;
static void handle(int unused) {
    (void)unused;
    static char name[] = "handler 0000";
    int number = handled++;
    for (int at = 11; at > 7; at--, number /= 10) name[at] = '0' + number % 10;
    nvtxDomainHandle_t domain = nvtxDomainCreateA(name);
    nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, name);
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = text;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
}
int main(void) {
    pairs("first", 1);
    signal(SIGALRM, handle);
    struct itimerval often = {{0, 300}, {0, 300}};
    setitimer(ITIMER_REAL, &often, 0);
    char name[64];
    nvtxDomainHandle_t domain = nvtxDomainCreateA("main");
    for (int i = 0; handled < 1000; i++) {
        snprintf(name, sizeof name, "main %d", i % 5000);
        nvtxDomainRegisterStringA(domain, name);
        free(malloc(i % 100000));
    }
    puts("ended");
    return 0;
}
