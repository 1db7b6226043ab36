/* Opens a range of every kind NVTX has, in known numbers:
 *   :plain 3, :plain/inner 6, :attributes 2, :wide 1, :se 2 (one ended on another
 *   thread), LLM:registered 4 (registered), LLM:registered/text 4, :cut 1 whose
 *   string is overwritten right after the call, :never_closed 1, one mark,
 *   one pop too many. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *end_elsewhere(void *range) {
    nvtxRangeEnd(*(nvtxRangeId_t *)range);
    return 0;
}

int main(void) {
    nvtxRangePop();
    for (int i = 0; i < 3; i++) {
        nvtxRangePushA("plain");
        nvtxRangePushA("inner");
        nvtxRangePop();
        nvtxRangePushA("inner");
        nvtxRangePop();
        nvtxRangePop();
    }
    nvtxEventAttributes_t attributes = {0};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.category = 7;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    attributes.payload.llValue = -5;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "attributes";
    nvtxNameCategoryA(7, "seven");
    for (int i = 0; i < 2; i++) {
        nvtxRangePushEx(&attributes);
        nvtxRangePop();
    }
    nvtxRangePushW(L"wide");
    nvtxRangePop();
    nvtxRangeId_t first = nvtxRangeStartA("se"), second = nvtxRangeStartA("se");
    pthread_t thread;
    pthread_create(&thread, 0, end_elsewhere, &second);
    pthread_join(thread, 0);
    nvtxRangeEnd(first);
    nvtxDomainHandle_t domain = nvtxDomainCreateA("LLM");
    nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "registered");
    for (int i = 0; i < 4; i++) {
        attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        attributes.message.registered = name;
        nvtxDomainRangePushEx(domain, &attributes);
        attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
        attributes.message.ascii = "text";
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
        nvtxDomainRangePop(domain);
    }
    char *text = strdup("cut");
    nvtxRangePushA(text);
    memset(text, 'x', 3);
    free(text);
    nvtxRangePop();
    nvtxMarkA("mark");
    nvtxNameOsThreadA(1, "a thread");
    nvtxResourceAttributes_t resource = {0};
    nvtxDomainResourceDestroy(nvtxDomainResourceCreate(domain, &resource));
    nvtxDomainDestroy(domain);
    nvtxRangePushA("never_closed");
    return 5;
}
