/* Does what its arguments say, one after the other:
 *   push=NAME rpush=NAME wpush=NAME wrpush=NAME pop   push/pop in the default domain
 *   dpush=DOMAIN:NAME drpush=DOMAIN:NAME dpop=DOMAIN  the same in a domain
 *   start=NAME rstart=NAME dstart=DOMAIN:NAME drstart=DOMAIN:NAME end   start/end; `end` ends the latest
 *   mark=NAME sleep=MILLISECONDS
 *   launch=BLOCKS        a kernel of so many blocks, where it is built with one (WITH_CUDA)
 *   thread ... join      what stands between runs on a thread of its own
 *   fork ... wait        what stands between runs in a forked child
 *   exec ... wait        the same in a child that executes this program anew
 *   inject               loads what CUDA_INJECTION64_PATH or NVTX_INJECTION64_PATH names, as the CUDA
 *                        driver does
 *   gpu=KERNELS subscribe    of the library that RANGEFINDER_CUPTI names (fake_cupti.c)
 *   ignoreterm exit=CODE quit=CODE abort kill
 * r: the name is registered; w: it is given as wide characters. */
#include <nvtx3/nvToolsExt.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#ifdef WITH_CUDA
void launch(int blocks); /* launch.cu */
#else
static void launch(int blocks) { (void)blocks; }
#endif

static char *self;

static struct {
    char name[64];
    nvtxDomainHandle_t handle;
} domains[64];

static nvtxDomainHandle_t domain(const char *name) {
    for (int i = 0; i < 64; i++) {
        if (!domains[i].name[0]) {
            strncpy(domains[i].name, name, 63);
            domains[i].handle = nvtxDomainCreateA(name);
        }
        if (!strcmp(domains[i].name, name)) return domains[i].handle;
    }
    abort();
}

static nvtxRangeId_t open_ranges[64];
static nvtxDomainHandle_t open_domains[64];
static int opened;

static void range(nvtxDomainHandle_t where, const char *name, int registered, int wide, int start) {
    static wchar_t text[256];
    nvtxEventAttributes_t attributes = {0};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    mbstowcs(text, name, 255);
    if (registered) {
        attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        attributes.message.registered =
            wide ? nvtxDomainRegisterStringW(where, text) : nvtxDomainRegisterStringA(where, name);
    } else if (wide) {
        attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
        attributes.message.unicode = text;
    } else {
        attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
        attributes.message.ascii = name;
    }
    if (start) {
        open_domains[opened] = where;
        open_ranges[opened++] = nvtxDomainRangeStartEx(where, &attributes);
    } else {
        nvtxDomainRangePushEx(where, &attributes);
    }
}

static void in_domain(const char *argument, int registered, int start) {
    char name[64];
    const char *colon = strchr(argument, ':');
    if (!colon) exit(99);
    snprintf(name, sizeof name, "%.*s", (int)(colon - argument), argument);
    range(domain(name), colon + 1, registered, 0, start);
}

/* Index of the matching end of a block that begins at `at`. */
static int block_end(char **words, int at, int end) {
    int depth = 0;
    for (; at < end; at++) {
        if (!strcmp(words[at], "thread") || !strcmp(words[at], "fork") || !strcmp(words[at], "exec")) depth++;
        if ((!strcmp(words[at], "join") || !strcmp(words[at], "wait")) && --depth == 0) return at;
    }
    exit(98);
}

struct part {
    char **words;
    int begin, end;
};

static void run(char **words, int at, int end);

static void *run_part(void *argument) {
    struct part *part = argument;
    run(part->words, part->begin, part->end);
    return 0;
}

static void run(char **words, int at, int end) {
    for (; at < end; at++) {
        char *word = words[at];
        char *value = strchr(word, '=');
        size_t length = value ? (size_t)(value++ - word) : strlen(word);
#define IS(text) (length == strlen(text) && !strncmp(word, text, length))
        if (IS("push")) nvtxRangePushA(value);
        else if (IS("rpush")) range(0, value, 1, 0, 0);
        else if (IS("wpush")) range(0, value, 0, 1, 0);
        else if (IS("wrpush")) range(0, value, 1, 1, 0);
        else if (IS("pop")) nvtxRangePop();
        else if (IS("dpush")) in_domain(value, 0, 0);
        else if (IS("drpush")) in_domain(value, 1, 0);
        else if (IS("dpop")) nvtxDomainRangePop(domain(value));
        else if (IS("start")) range(0, value, 0, 0, 1);
        else if (IS("rstart")) range(0, value, 1, 0, 1);
        else if (IS("dstart")) in_domain(value, 0, 1);
        else if (IS("drstart")) in_domain(value, 1, 1);
        else if (IS("end")) {
            opened--;
            nvtxDomainRangeEnd(open_domains[opened], open_ranges[opened]);
        } else if (IS("mark")) nvtxMarkA(value);
        else if (IS("launch")) launch(atoi(value));
        else if (IS("sleep")) usleep(atoi(value) * 1000);
        else if (IS("inject")) {
            const char *path = getenv("CUDA_INJECTION64_PATH");
            void *library = dlopen(path ? path : getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
            int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : 0;
            if (!initialize || !initialize()) exit(95);
        } else if (IS("gpu") || IS("subscribe") || IS("subscribe2") || IS("capture") || IS("instantiate") || IS("replay")) {
            void *library = dlopen(getenv("RANGEFINDER_CUPTI"), RTLD_NOW);
            if (!library) exit(94);
            const char *what = IS("gpu") ? "fake_launch" : IS("capture") ? "fake_capture" : IS("replay") ? "fake_replay" : "fake_instantiate";
            const char *subscribe = IS("subscribe") ? "cuptiSubscribe" : IS("subscribe2") ? "cuptiSubscribe_v2" : 0;
            if (!subscribe) ((void (*)(int))dlsym(library, what))(value ? atoi(value) : 0);
            else ((int (*)(void *, void *, void *, void *))dlsym(library, subscribe))(0, 0, 0, 0);
        } else if (IS("ignoreterm")) signal(SIGTERM, SIG_IGN);
        else if (IS("exit")) exit(atoi(value));
        else if (IS("quit")) _exit(atoi(value));
        else if (IS("abort")) abort();
        else if (IS("kill")) kill(getpid(), SIGKILL);
        else if (IS("thread")) {
            int last = block_end(words, at, end);
            struct part part = {words, at + 1, last};
            pthread_t thread;
            pthread_create(&thread, 0, run_part, &part);
            pthread_join(thread, 0);
            at = last;
        } else if (IS("fork") || IS("exec")) {
            int last = block_end(words, at, end), status;
            if (fork() == 0) {
                if (IS("exec")) {
                    char *again[64] = {self};
                    int count = 1;
                    for (int i = at + 1; i < last && count < 63; i++) again[count++] = words[i];
                    execv(self, again);
                    _exit(97);
                }
                run(words, at + 1, last);
                exit(0);
            }
            wait(&status);
            at = last;
        } else {
            fprintf(stderr, "emit: what is `%s`?\n", word);
            exit(96);
        }
    }
}

int main(int argc, char **argv) {
    self = argv[0];
    run(argv, 1, argc);
    return 0;
}
