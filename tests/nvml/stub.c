/* A stand-in for libnvidia-ml.so.1 whose answers come from the file $NVML_STUB, read anew whenever it changed.
 *
 * Lines are "KEY VALUE". "*.KEY" is of all GPUs, "3.KEY" of the fourth alone. A value "!15" is answered with that error
 * code, a key that is not there with 3 (not supported). "error.FUNCTION" and "delay_ms.FUNCTION" are of one function,
 * "3.lost" of all calls to one GPU. Lines "GPU XID" that are appended to $NVML_STUB.events become events.
 * Compiled with -DOLD_DRIVER the functions that came late are missing.
 * Layouts are those of https://docs.nvidia.com/deploy/nvml-api/.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { OK, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6, INSUFFICIENT_SIZE, NOT_LOADED = 9, TIMED_OUT };
enum { GPUS = 16, INSTANCES = 8, EPOCHS = 64, LINES = 4096 };

typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct { int gpu, instance, epoch; } Device;
typedef struct { char key[96], value[96]; } Line;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Line lines[LINES];
static int count, epoch, present[GPUS], presents;
static struct timespec changed;
static ino_t inode;
static Device devices[EPOCHS][GPUS], parts[EPOCHS][GPUS][INSTANCES];
static int opened;
static long events_read;

static void load(void) {
    const char *path = getenv("NVML_STUB");
    struct stat at;
    if (!path || stat(path, &at)) { count = 0; return; }
    if (at.st_ino == inode && !memcmp(&at.st_mtim, &changed, sizeof changed)) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    inode = at.st_ino, changed = at.st_mtim, count = 0;
    while (count < LINES && fscanf(file, "%95s %95[^\n]", lines[count].key, lines[count].value) == 2) count++;
    fclose(file);
}

static int find(const char *key, char *value) {
    int found = 0;
    pthread_mutex_lock(&lock);
    load();
    for (int i = 0; i < count && !found; i++)
        if (!strcmp(lines[i].key, key)) { strcpy(value, lines[i].value); found = 1; }
    pthread_mutex_unlock(&lock);
    return found;
}

/* The text of a key of a GPU, or the error that is to be answered. */
static int text(const Device *device, const char *key, char *value) {
    char full[128];
    snprintf(full, sizeof full, "%d.%s", device->gpu, key);
    if (!find(full, value)) {
        snprintf(full, sizeof full, "*.%s", key);
        if (!find(full, value)) return NOT_SUPPORTED;
    }
    return value[0] == '!' ? atoi(value + 1) : OK;
}

/* What every call starts with: how long it takes, and whether it works at all. */
static int begin(const char *function, const Device *device) {
    char key[128], value[96];
    snprintf(key, sizeof key, "delay_ms.%s", function);
    if (find(key, value)) {
        long ms = atol(value);
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    }
    snprintf(key, sizeof key, "error.%s", function);
    if (find(key, value)) return atoi(value);
    if (!opened) return UNINITIALIZED;
    if (!device) return OK;
    if (device->epoch != epoch) return UNINITIALIZED;
    int lost = text(device, "lost", value);
    return lost == NOT_SUPPORTED ? OK : lost == OK ? atoi(value) : lost;
}

#define BEGIN(device) int r = begin(__func__, device); char v[96]; (void)v; if (r) return r
#define TEXT(function, key) \
    int function(Device *d, char *out, u32 size) { BEGIN(d); if (!(r = text(d, key, v))) snprintf(out, size, "%s", v); return r; }
#define NUMBER(function, key, type) \
    int function(Device *d, type *out) { BEGIN(d); if (!(r = text(d, key, v))) *out = (type)strtoull(v, NULL, 0); return r; }
#define NUMBER_OF(function, key, type) \
    int function(Device *d, u32 which, type *out) { \
        BEGIN(d); \
        char k[96]; \
        snprintf(k, sizeof k, "%s.%u", key, which); \
        if (!(r = text(d, k, v))) *out = (type)strtoull(v, NULL, 0); \
        return r; \
    }
#define PAIR(function, key, type) \
    int function(Device *d, type *a, type *b) { BEGIN(d); u64 x = 0, y = 0; \
        if (!(r = text(d, key, v))) { sscanf(v, "%llu %llu", &x, &y); *a = (type)x, *b = (type)y; } return r; }

int nvmlInitWithFlags(u32 flags) {
    char key[128], value[96];
    (void)flags;
    int r = begin(__func__, NULL);
    if (r && r != UNINITIALIZED) return r;
    if (!find("count", value)) return NOT_LOADED;
    epoch = (epoch + 1) % EPOCHS, presents = 0, opened = 1;
    for (int gpu = 0; gpu < atoi(value); gpu++) {
        char gone[96];
        snprintf(key, sizeof key, "%d.unplugged", gpu);
        if (!find(key, gone)) present[presents++] = gpu;
        devices[epoch][gpu] = (Device){gpu, -1, epoch};
        for (int i = 0; i < INSTANCES; i++) parts[epoch][gpu][i] = (Device){gpu, i, epoch};
    }
    return OK;
}
int nvmlShutdown(void) { opened = 0; return OK; }
const char *nvmlErrorString(int code) {
    static char said[32];
    snprintf(said, sizeof said, "stub error %d", code);
    return code == 15 ? "GPU is lost" : code == NOT_LOADED ? "Driver Not Loaded" : said;
}

int nvmlSystemGetDriverVersion(char *out, u32 size) { BEGIN(NULL); snprintf(out, size, "%s", find("driver", v) ? v : ""); return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { BEGIN(NULL); *out = find("cuda", v) ? atoi(v) : 0; return OK; }
int nvmlSystemGetConfComputeState(u32 *out) { BEGIN(NULL); out[0] = out[1] = out[2] = 0; return OK; }
int nvmlDeviceGetCount_v2(u32 *out) { BEGIN(NULL); *out = (u32)presents; return OK; }
int nvmlDeviceGetHandleByIndex_v2(u32 index, Device **out) {
    BEGIN(NULL);
    if ((int)index >= presents) return INVALID_ARGUMENT;
    *out = &devices[epoch][present[index]];
    return begin("", *out);
}
int nvmlDeviceGetUUID(Device *d, char *out, u32 size) {
    BEGIN(d);
    if (d->instance < 0) snprintf(out, size, "GPU-%08d-0000-0000-0000-000000000000", d->gpu);
    else snprintf(out, size, "MIG-%08d-%04d-0000-0000-000000000000", d->gpu, d->instance);
    return OK;
}
int nvmlDeviceGetName(Device *d, char *out, u32 size) {
    BEGIN(d);
    char key[96] = "name";
    if (d->instance >= 0) snprintf(key, sizeof key, "mig.%d.name", d->instance);
    if (!(r = text(d, key, v))) snprintf(out, size, "%s", v);
    return r;
}
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
PAIR(nvmlDeviceGetCudaComputeCapability, "capability", int)
struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(Device *d, struct pci *out) {
    BEGIN(d);
    memset(out, 0, sizeof *out);
    out->bus = 0x10 + (u32)d->gpu, out->id = 0x233010DE;
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus);
    return OK;
}

int nvmlDeviceGetUtilizationRates(Device *d, u32 *out) {
    BEGIN(d);
    if (!(r = text(d, "utilization", v))) sscanf(v, "%u %u", out, out + 1);
    return r;
}
PAIR(nvmlDeviceGetEncoderUtilization, "encoder", u32)
PAIR(nvmlDeviceGetDecoderUtilization, "decoder", u32)
PAIR(nvmlDeviceGetJpgUtilization, "jpeg", u32)
PAIR(nvmlDeviceGetOfaUtilization, "ofa", u32)

/* "TOTAL RESERVED USED" in bytes; what the first version calls used has the reserve in it. */
static int memory(Device *d, u64 *total, u64 *reserved, u64 *used) {
    char key[96] = "memory", v[96];
    if (d->instance >= 0) snprintf(key, sizeof key, "mig.%d.memory", d->instance);
    int r = text(d, key, v);
    if (!r) sscanf(v, "%llu %llu %llu", total, reserved, used);
    return r;
}
int nvmlDeviceGetMemoryInfo(Device *d, u64 *out) {
    BEGIN(d);
    u64 total, reserved, used;
    if ((r = memory(d, &total, &reserved, &used))) return r;
    out[0] = total, out[1] = total - used - reserved, out[2] = used + reserved;
    return OK;
}
int nvmlDeviceGetBAR1MemoryInfo(Device *d, u64 *out) {
    BEGIN(d);
    if (!(r = text(d, "bar1", v))) sscanf(v, "%llu %llu", out, out + 2), out[1] = out[0] - out[2];
    return r;
}

NUMBER_OF(nvmlDeviceGetTemperature, "temperature", u32)
NUMBER_OF(nvmlDeviceGetClockInfo, "clock", u32)
NUMBER_OF(nvmlDeviceGetMaxClockInfo, "clock_max", u32)
NUMBER_OF(nvmlDeviceGetFanSpeed_v2, "fan", u32)
NUMBER_OF(nvmlDeviceGetNvLinkState, "nvlink", u32)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "reasons", u64)
NUMBER(nvmlDeviceGetPerformanceState, "pstate", u32)
NUMBER(nvmlDeviceGetPowerUsage, "power", u32)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, "energy", u64)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power_limit", u32)
NUMBER(nvmlDeviceGetPcieReplayCounter, "replays", u32)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation", u32)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_generation_max", u32)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width", u32)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max", u32)
NUMBER(nvmlDeviceGetComputeMode, "compute_mode", u32)
NUMBER(nvmlDeviceGetPersistenceMode, "persistence", u32)
PAIR(nvmlDeviceGetEccMode, "ecc_mode", u32)
PAIR(nvmlDeviceGetMigMode, "mig_mode", u32)
PAIR(nvmlDeviceGetGspFirmwareMode, "gsp_mode", u32)
int nvmlDeviceGetMemoryErrorCounter(Device *d, u32 kind, u32 counter, u32 place, u64 *out) {
    BEGIN(d);
    char key[96];
    snprintf(key, sizeof key, "ecc.%u.%u.%u", kind, counter, place);
    if (!(r = text(d, key, v))) *out = strtoull(v, NULL, 0);
    return r;
}

NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mig_most", u32)
int nvmlDeviceGetMigDeviceHandleByIndex(Device *d, u32 index, Device **out) {
    BEGIN(d);
    char key[96];
    snprintf(key, sizeof key, "mig.%u.name", index);
    if (text(d, key, v)) return NOT_FOUND;
    *out = &parts[epoch][d->gpu][index];
    return OK;
}
static int part(Device *d, const char *what, u32 *out) {
    char key[96], v[96];
    snprintf(key, sizeof key, "mig.%d.%s", d->instance, what);
    int r = text(d, key, v);
    if (!r) *out = (u32)atoi(v);
    return r;
}
int nvmlDeviceGetGpuInstanceId(Device *d, u32 *out) { BEGIN(d); return part(d, "gi", out); }
int nvmlDeviceGetComputeInstanceId(Device *d, u32 *out) { BEGIN(d); return part(d, "ci", out); }

struct process { u32 pid; u64 used; u32 instance, compute; };
static int processes(Device *d, const char *key, u32 *size, struct process *out) {
    char v[96];
    int r = text(d, key, v);
    if (r) return r;
    u32 running = (u32)atoi(v);
    if (*size < running) { *size = running; return INSUFFICIENT_SIZE; }
    for (u32 i = 0; i < running; i++) out[i] = (struct process){1000 + i, 1 << 20, 0xFFFFFFFF, 0xFFFFFFFF};
    *size = running;
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device *d, u32 *size, struct process *out) { BEGIN(d); return processes(d, "compute_processes", size, out); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(Device *d, u32 *size, struct process *out) { BEGIN(d); return processes(d, "graphics_processes", size, out); }

#ifndef OLD_DRIVER
struct memory_v2 { u32 version; u64 total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(Device *d, struct memory_v2 *out) {
    BEGIN(d);
    if (out->version != 0x02000028) return 25;
    if ((r = memory(d, &out->total, &out->reserved, &out->used))) return r;
    out->free = out->total - out->reserved - out->used;
    return OK;
}
struct margin { u32 version; int margin; };
int nvmlDeviceGetMarginTemperature(Device *d, struct margin *out) {
    BEGIN(d);
    if (out->version != 0x01000008) return 25;
    if (!(r = text(d, "margin", v))) out->margin = atoi(v);
    return r;
}
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, "reasons", u64)
int nvmlDeviceGetRowRemapperHistogram(Device *d, u32 *out) {
    BEGIN(d);
    if (!(r = text(d, "banks", v))) sscanf(v, "%u %u %u %u %u", out, out + 1, out + 2, out + 3, out + 4);
    return r;
}
struct fabric { u32 version; unsigned char cluster[16]; u32 status, clique; unsigned char state; u32 health; };
int nvmlDeviceGetGpuFabricInfoV(Device *d, struct fabric *out) {
    BEGIN(d);
    if (out->version != 0x02000024) return 25;
    if (!(r = text(d, "fabric", v))) out->state = (unsigned char)atoi(v);
    return r;
}

struct field { u32 id, scope; long long at_us, took_us; u32 type, code; union { u64 whole; u32 half; double real; } value; };
int nvmlDeviceGetFieldValues(Device *d, int size, struct field *fields) {
    BEGIN(d);
    for (int i = 0; i < size; i++) {
        char key[96];
        snprintf(key, sizeof key, fields[i].scope ? "field.%u.%u" : "field.%u", fields[i].id, fields[i].scope);
        if ((fields[i].code = (u32)text(d, key, v))) continue;
        fields[i].value.whole = 0xDEADBEEFDEADBEEF; /* what a narrower value leaves as it was */
        char *end;
        u64 whole = strtoull(v, &end, 0);
        if (*end == 'u') fields[i].type = 1, fields[i].value.half = (u32)whole;
        else if (*end == '.') fields[i].type = 0, fields[i].value.real = atof(v);
        else fields[i].type = 3, fields[i].value.whole = whole;
    }
    return OK;
}

struct metric { u32 id, code; double value; char *names[3]; };
struct metrics { u32 version, size; void *first, *second; struct metric metrics[]; };
struct sample { Device *device; int taken; char of[32]; };
int nvmlGpmQueryDeviceSupport(Device *d, u32 *version_and_support) { BEGIN(d); version_and_support[1] = !text(d, "gpm", v); return OK; }
int nvmlGpmSampleAlloc(struct sample **out) { BEGIN(NULL); *out = calloc(1, sizeof **out); return OK; }
int nvmlGpmSampleFree(struct sample *sample) { free(sample); return OK; }
static int filled(Device *d, struct sample *sample) {
    static int taken;
    sample->device = d, sample->taken = ++taken;
    return OK;
}
int nvmlGpmSampleGet(Device *d, struct sample *sample) {
    BEGIN(d);
    strcpy(sample->of, "gpm");
    return text(d, "gpm", v) ? NOT_SUPPORTED : filled(d, sample);
}
int nvmlGpmMigSampleGet(Device *d, u32 instance, struct sample *sample) {
    BEGIN(d);
    snprintf(sample->of, sizeof sample->of, "gi.%u.gpm", instance);
    return text(d, sample->of, v) ? NOT_SUPPORTED : filled(d, sample);
}
int nvmlGpmMetricsGet(struct metrics *asked) {
    BEGIN(NULL);
    struct sample *first = asked->first, *second = asked->second;
    if (asked->version != 1 || first->device != second->device || first->taken >= second->taken) return INVALID_ARGUMENT;
    for (u32 i = 0; i < asked->size; i++) {
        char key[96];
        snprintf(key, sizeof key, "%s.%u", second->of, asked->metrics[i].id);
        if (!(asked->metrics[i].code = (u32)text(second->device, key, v))) asked->metrics[i].value = atof(v);
    }
    return OK;
}
#endif

struct event { Device *device; u64 type, data; u32 instance, compute; };
static FILE *events(void) {
    char path[512];
    snprintf(path, sizeof path, "%s.events", getenv("NVML_STUB") ? getenv("NVML_STUB") : "");
    return fopen(path, "r");
}
int nvmlEventSetCreate(int **out) {
    static int set;
    BEGIN(NULL);
    FILE *file = events(); /* what has happened before is not told */
    events_read = 0;
    if (file) fseek(file, 0, SEEK_END), events_read = ftell(file), fclose(file);
    *out = &set;
    return OK;
}
int nvmlEventSetFree(int *set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(Device *d, u64 types, int *set) { BEGIN(d); (void)set; return types == 8 ? OK : NOT_SUPPORTED; }
static int next_event(struct event *out) {
    int gpu, xid, found = 0;
    FILE *file = events();
    if (!file) return 0;
    fseek(file, events_read, SEEK_SET);
    if (fscanf(file, "%d %d\n", &gpu, &xid) == 2) {
        *out = (struct event){&devices[epoch][gpu], 8, (u64)xid, 0xFFFFFFFF, 0xFFFFFFFF};
        events_read = ftell(file), found = 1;
    }
    fclose(file);
    return found;
}
int nvmlEventSetWait_v2(int *set, struct event *out, u32 timeout_ms) {
    BEGIN(NULL);
    (void)set;
    for (u32 waited = 0; !next_event(out); waited += 5) {
        if (waited >= timeout_ms) return TIMED_OUT;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return OK;
}
