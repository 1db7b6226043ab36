// Stands in for the driver's NVML: one device, about which it knows nothing.

static int device;

int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned flags) { return (void)flags, 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int result) { return (void)result, "an error"; }

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = 1;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    *handle = &device;
    return index == 0 ? 0 : 2;
}
