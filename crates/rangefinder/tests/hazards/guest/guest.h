/* What the programs of this folder share. Each does one thing that a guest in its process might
 * get wrong, and must print, leave behind and return the same with a guest as without. */
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void pairs(const char *name, long count) {
    for (long i = 0; i < count; i++) {
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}

/* So many different names that each must be written down. */
static inline void new_names(const char *stem, int count) {
    char name[64];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s %d", stem, i);
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}

static inline void limit(int resource, rlim_t value) {
    struct rlimit limit;
    getrlimit(resource, &limit);
    limit.rlim_cur = value;
    if (setrlimit(resource, &limit)) perror("setrlimit");
}

/* A file whose every byte is known. */
static inline int checkpoint(const char *path, long size) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char block[4096];
    for (long at = 0; at < size; at += sizeof block) {
        memset(block, (int)(at / sizeof block) * 7 + 1, sizeof block);
        if (write(file, block, sizeof block) != sizeof block) perror("write");
    }
    return file;
}

static inline void say_checkpoint(int file, long size) {
    char block[4096], expected[4096];
    long wrong = 0;
    for (long at = 0; at < size; at += sizeof block) {
        memset(expected, (int)(at / sizeof block) * 7 + 1, sizeof expected);
        if (pread(file, block, sizeof block, at) != sizeof block || memcmp(block, expected, sizeof block)) wrong++;
    }
    struct stat stat;
    fstat(file, &stat);
    printf("checkpoint: %ld bytes, %ld blocks wrong\n", (long)stat.st_size, wrong);
}

static inline long resident_kb(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = -1;
    if (file) fclose(file);
    return resident * 4;
}

static inline void wait_for(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("child: signal %d\n", WTERMSIG(status));
    else printf("child: exit code %d\n", WEXITSTATUS(status));
}
