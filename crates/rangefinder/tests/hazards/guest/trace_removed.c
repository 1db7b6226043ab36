/* Removes the traces of whoever watches it, and puts links to its own file in their place. */
#include "guest.h"
#include <dirent.h>
int main(void) {
    pairs("early", 1000);
    int file = checkpoint("checkpoint.bin", 8 << 20);
    char own[4096], path[8192];
    if (!realpath("checkpoint.bin", own)) return 1;
    const char *folder = getenv("RANGEFINDER_TRACE_DIR");
    DIR *entries = folder ? opendir(folder) : 0;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (!strstr(entry->d_name, ".rft")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
        if (symlink(own, path)) perror("symlink");
    }
    if (entries) closedir(entries);
    pairs("late", 300000);
    say_checkpoint(file, 8 << 20);
    for (entries = folder ? opendir(folder) : 0; entries;) {
        struct dirent *entry = readdir(entries);
        if (!entry) break;
        if (!strstr(entry->d_name, ".rft")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    return 0;
}
