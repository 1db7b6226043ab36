/* Says every text of a file, in which they end with a NUL, in every way a program can:
 * on stdout, on stderr, as JSON, as the name of a range, of a registered range, of a mark, of a
 * domain and of a category.
 *   utter FILE [ANYTHING]... */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void as_json(const char *text) {
    fputs("{\"text\": \"", stdout);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if (*text == '\n')
            fputs("\\n", stdout);
        else
            putchar(*text);
    }
    fputs("\"}\n", stdout);
}

static void say(const char *text, int number) {
    puts(text);
    fprintf(stderr, "%s\n", text);
    as_json(text);
    nvtxRangePushA(text);
    nvtxRangePop();
    nvtxMarkA(text);
    nvtxDomainHandle_t domain = nvtxDomainCreateA(text);
    nvtxDomainNameCategoryA(domain, number + 1, text);
    nvtxEventAttributes_t attributes = {0};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = nvtxDomainRegisterStringA(domain, text);
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
}

int main(int count, char **arguments) {
    static char texts[1 << 20];
    FILE *file = count > 1 ? fopen(arguments[1], "rb") : NULL;
    size_t length = file ? fread(texts, 1, sizeof texts - 1, file) : 0;
    int number = 0;
    for (char *text = texts; text < texts + length; text += strlen(text) + 1) say(text, number++);
    for (int i = 2; i < count; i++) puts(arguments[i]);
    if (getenv("UTTER_WAITS_FOR"))
        while (access(getenv("UTTER_WAITS_FOR"), F_OK)) usleep(20000);
    return 0;
}
