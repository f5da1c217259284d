/* A stand-in for libnvidia-ml.so.1, driven by a file while it runs.
 *
 * The file "scenario" beside the library is read again whenever it changes. One fact a line:
 *
 *   driver 580.95.05            library 13.580.95        count 2
 *   init 9                      (an NVML error code; also "hang", "crash")
 *   log on                      (every call is appended to "calls" beside the library)
 *   gpu 0 uuid GPU-...          gpu 0 name NVIDIA H200   gpu 0 bus 00000000:0A:00.0
 *   gpu 0 utilization 100       gpu 0 power 627400       gpu 0 limit 700000
 *   gpu 0 process 4242 1048576  (pid, bytes, MIG instance; any number of them; also "graphics",
 *                               and "mps" for a client of MPS)
 *   gpu 0 processes error 4     (all three lists; one alone is "compute_list", "graphics_list" or
 *                               "mps_list")
 *   xid 1 0 79                  (serial, gpu, code: told once, if it comes while somebody listens
 *                               to that gpu)
 *
 * A value is a number, or "error N", "hang" (the call never returns), "crash", "stuck FILE" (the call
 * waits in the kernel, in a read of that file, until its file system answers), "slow MS VALUE", or
 * values over time as "0@0 100@5" (seconds since the file was written). What is not named for a GPU
 * answers NOT_SUPPORTED. Energy follows power unless it is given, with "module" milliwatts on top.
 *
 * As a driver does: the count is that of the last start of the library (unless "count_lives" is
 * set), and once a card is lost, waiting for events fails for every card in the set.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_GPUS 32
#define MAX_FACTS 48
#define MAX_PROCS 64
#define TEXT 160
#define API __attribute__((visibility("default")))

enum { OK = 0, UNINIT = 1, INVALID = 2, NOSUP = 3, SIZE = 7, TIMEOUT = 10, LOST = 15, VERSION = 25 };
enum { COMPUTE, GRAPHICS, MPS };

typedef struct { char key[32]; char text[TEXT]; } fact;
typedef struct { unsigned pid; unsigned long long bytes; unsigned instance; int kind; } proc;
typedef struct {
    int index, nfacts, nprocs, mig_parent, mig_number;
    fact facts[MAX_FACTS];
    proc procs[MAX_PROCS];
    double energy_mj, energy_at;
} gpu;

static gpu gpus[MAX_GPUS];
static gpu migs[MAX_GPUS][8];
static fact globals[MAX_FACTS];
static int nglobals, initialized, logging, frozen_count;
static double written_at;
static struct timespec seen;
static char folder[512];
static int serials_done[256], nserials_done;
static struct { int serial, gpu, code; } xids[64];
static int nxids;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void put(fact *facts, int *n, const char *key, const char *text) {
    for (int i = 0; i < *n; i++)
        if (!strcmp(facts[i].key, key)) {
            snprintf(facts[i].text, TEXT, "%s", text);
            return;
        }
    if (*n < MAX_FACTS) {
        snprintf(facts[*n].key, sizeof facts[*n].key, "%s", key);
        snprintf(facts[(*n)++].text, TEXT, "%s", text);
    }
}

static void line_of_gpu(char *line) {
    int index, used = 0;
    char key[32];
    if (sscanf(line, "%d %31s %n", &index, key, &used) < 2 || index < 0 || index >= MAX_GPUS) return;
    gpu *g = &gpus[index];
    char *rest = line + used;
    if (!strcmp(key, "process") || !strcmp(key, "graphics") || !strcmp(key, "mps")) {
        if (g->nprocs >= MAX_PROCS) return;
        proc *p = &g->procs[g->nprocs++];
        p->bytes = ~0ULL;
        p->instance = ~0U;
        p->kind = key[0] == 'g' ? GRAPHICS : key[0] == 'm' ? MPS : COMPUTE;
        sscanf(rest, "%u %llu %u", &p->pid, &p->bytes, &p->instance);
        return;
    }
    if (!strcmp(key, "mig_device")) {
        int number, more = 0;
        char mig_key[32];
        if (sscanf(rest, "%d %31s %n", &number, mig_key, &more) < 2 || number < 0 || number > 7) return;
        gpu *m = &migs[index][number];
        m->mig_parent = index + 1;
        m->mig_number = number;
        put(m->facts, &m->nfacts, mig_key, rest + more);
        return;
    }
    put(g->facts, &g->nfacts, key, rest);
}

static void load(void) {
    char path[600], line[512];
    struct stat st;
    if (!folder[0]) {
        Dl_info info;
        dladdr((void *)load, &info);
        snprintf(folder, sizeof folder, "%s", info.dli_fname);
        char *slash = strrchr(folder, '/');
        if (slash) *slash = 0; else strcpy(folder, ".");
    }
    snprintf(path, sizeof path, "%s/scenario", folder);
    if (stat(path, &st)) return;
    if (st.st_mtim.tv_sec == seen.tv_sec && st.st_mtim.tv_nsec == seen.tv_nsec) return;
    FILE *f = fopen(path, "r");
    if (!f) return;
    seen = st.st_mtim;
    written_at = seen.tv_sec + seen.tv_nsec * 1e-9;
    nglobals = nxids = logging = 0;
    memset(migs, 0, sizeof migs);
    for (int i = 0; i < MAX_GPUS; i++) {
        gpus[i].index = i;
        gpus[i].nfacts = gpus[i].nprocs = 0;
    }
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char key[32];
        int used = 0;
        if (line[0] == '#' || sscanf(line, "%31s %n", key, &used) < 1) continue;
        if (!strcmp(key, "gpu")) line_of_gpu(line + used);
        else if (!strcmp(key, "xid") && nxids < 64) {
            if (sscanf(line + used, "%d %d %d", &xids[nxids].serial, &xids[nxids].gpu,
                       &xids[nxids].code) == 3) nxids++;
        } else put(globals, &nglobals, key, line + used);
    }
    fclose(f);
    for (int i = 0; i < nglobals; i++)
        if (!strcmp(globals[i].key, "log")) logging = !strcmp(globals[i].text, "on");
}

static void note(const char *call, int index) {
    load();
    if (!logging) return;
    char path[600];
    snprintf(path, sizeof path, "%s/calls", folder);
    FILE *f = fopen(path, "a");
    if (f) {
        fprintf(f, "%d %s %d\n", getpid(), call, index);
        fclose(f);
    }
}

static const char *find(const fact *facts, int n, const char *key) {
    for (int i = 0; i < n; i++)
        if (!strcmp(facts[i].key, key)) return facts[i].text;
    return NULL;
}

static const char *global(const char *key) { return find(globals, nglobals, key); }

static int act(const char **text) {
    static char chosen[TEXT];
    if (!*text) return NOSUP;
    int code, ms, used = 0;
    if (!strcmp(*text, "hang")) for (;;) pause();
    if (!strcmp(*text, "crash")) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (!strncmp(*text, "stuck ", 6)) {
        char byte;
        int fd = open(*text + 6, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? -1 : read(fd, &byte, 1);
        if (fd >= 0) close(fd);
        if (got < 0) return 999;
    }
    if (sscanf(*text, "error %d", &code) == 1) return code;
    if (sscanf(*text, "slow %d %n", &ms, &used) >= 1) {
        usleep(ms * 1000);
        *text += used;
        return OK;
    }
    if (strchr(*text, '@')) {
        char copy[TEXT], *save = NULL;
        double since = now() - written_at;
        snprintf(copy, TEXT, "%s", *text);
        chosen[0] = 0;
        for (char *token = strtok_r(copy, " ", &save); token; token = strtok_r(NULL, " ", &save)) {
            char *at = strchr(token, '@');
            if (at && atof(at + 1) <= since) {
                *at = 0;
                snprintf(chosen, TEXT, "%s", token);
            }
        }
        *text = chosen;
        if (!chosen[0]) return NOSUP;
    }
    return OK;
}

/* One value of one GPU; every other answer of that GPU is LOST while "state" says so. */
static int value(gpu *g, const char *call, const char *key, const char **text) {
    note(call, g->index);
    if (!initialized) return UNINIT;
    const char *state = find(g->facts, g->nfacts, "state");
    int ret = state ? act(&state) : OK;
    if (ret != OK) return ret;
    *text = find(g->facts, g->nfacts, key);
    return act(text);
}

static int number(void *device, const char *call, const char *key, unsigned long long *out) {
    const char *text;
    int ret = value(device, call, key, &text);
    if (ret == OK) *out = strtoull(text, NULL, 0);
    return ret;
}

static int narrow(void *device, const char *call, const char *key, unsigned *out) {
    unsigned long long wide;
    int ret = number(device, call, key, &wide);
    if (ret == OK) *out = (unsigned)wide;
    return ret;
}

static int copy(const char *text, char *out, unsigned length) {
    if (!strcmp(text, "garbage")) text = "\xff\xfe\x1b]0;oops\x07";
    if (strlen(text) >= length) return SIZE;
    strcpy(out, text);
    return OK;
}

static int words(void *device, const char *call, const char *key, char *out, unsigned length) {
    const char *text;
    int ret = value(device, call, key, &text);
    return ret == OK ? copy(text, out, length) : ret;
}

static int of_system(const char *call, const char *key, char *out, unsigned length) {
    note(call, -1);
    if (!initialized) return UNINIT;
    const char *text = global(key);
    int ret = act(&text);
    return ret == OK ? copy(text, out, length) : ret;
}

API int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    note("nvmlInitWithFlags", -1);
    const char *text = global("init");
    int ret = text ? act(&text) : OK;
    if (ret == OK && text) ret = atoi(text);
    if (ret != OK) return ret;
    const char *count = global("count");
    frozen_count = count ? atoi(count) : 0;
    initialized++;
    return OK;
}
API int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
API int nvmlShutdown(void) {
    note("nvmlShutdown", -1);
    if (!initialized) return UNINIT;
    initialized--;
    return OK;
}
API const char *nvmlErrorString(int code) {
    static char text[32];
    snprintf(text, sizeof text, "error %d", code);
    return text;
}
API int nvmlSystemGetDriverVersion(char *out, unsigned n) {
    return of_system("nvmlSystemGetDriverVersion", "driver", out, n);
}
API int nvmlSystemGetNVMLVersion(char *out, unsigned n) {
    return of_system("nvmlSystemGetNVMLVersion", "library", out, n);
}
API int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 13000; return OK; }
API int nvmlSystemGetCudaDriverVersion(int *out) { *out = 13000; return OK; }
API int nvmlDeviceGetCount_v2(unsigned *out) {
    note("nvmlDeviceGetCount_v2", -1);
    if (!initialized) return UNINIT;
    const char *text = global("count");
    int ret = act(&text);
    if (ret != OK) return ret;
    *out = global("count_lives") ? atoi(text) : frozen_count;
    return OK;
}
API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    note("nvmlDeviceGetHandleByIndex_v2", (int)index);
    if (!initialized) return UNINIT;
    if (index >= MAX_GPUS || !gpus[index].nfacts) return INVALID;
    const char *text = find(gpus[index].facts, gpus[index].nfacts, "handle");
    int ret = text ? act(&text) : OK;
    if (ret != OK) return ret;
    *out = &gpus[index];
    return OK;
}
API int nvmlDeviceGetIndex(void *d, unsigned *out) { *out = ((gpu *)d)->index; return OK; }
API int nvmlDeviceGetName(void *d, char *out, unsigned n) {
    return words(d, "nvmlDeviceGetName", "name", out, n);
}
API int nvmlDeviceGetUUID(void *d, char *out, unsigned n) {
    return words(d, "nvmlDeviceGetUUID", "uuid", out, n);
}
typedef struct {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} pci;
API int nvmlDeviceGetPciInfo_v3(void *d, pci *out) {
    memset(out, 0, sizeof *out);
    return words(d, "nvmlDeviceGetPciInfo_v3", "bus", out->bus_id, 32);
}
API int nvmlDeviceGetCudaComputeCapability(void *d, int *major, int *minor) {
    const char *text;
    int ret = value(d, "nvmlDeviceGetCudaComputeCapability", "capability", &text);
    if (ret == OK && sscanf(text, "%d.%d", major, minor) != 2) return 999;
    return ret;
}
API int nvmlDeviceGetMigMode(void *d, unsigned *current, unsigned *pending) {
    int ret = narrow(d, "nvmlDeviceGetMigMode", "mig", current);
    if (ret == OK) *pending = *current;
    return ret;
}
API int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *out) {
    note("nvmlDeviceGetMaxMigDeviceCount", ((gpu *)d)->index);
    *out = 7;
    return OK;
}
API int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned index, void **out) {
    gpu *parent = d;
    note("nvmlDeviceGetMigDeviceHandleByIndex", parent->index);
    if (index > 7 || !migs[parent->index][index].mig_parent) return 6;
    *out = &migs[parent->index][index];
    return OK;
}
API int nvmlDeviceGetGpuInstanceId(void *d, unsigned *out) {
    return narrow(d, "nvmlDeviceGetGpuInstanceId", "gpu_instance", out);
}
API int nvmlDeviceGetComputeInstanceId(void *d, unsigned *out) {
    return narrow(d, "nvmlDeviceGetComputeInstanceId", "compute_instance", out);
}
typedef struct { unsigned gpu, memory; } rates;
API int nvmlDeviceGetUtilizationRates(void *d, rates *out) {
    int ret = narrow(d, "nvmlDeviceGetUtilizationRates", "utilization", &out->gpu);
    out->memory = 0;
    return ret;
}
API int nvmlDeviceGetPowerUsage(void *d, unsigned *out) {
    return narrow(d, "nvmlDeviceGetPowerUsage", "average", out) == OK
               ? OK : narrow(d, "nvmlDeviceGetPowerUsage", "power", out);
}
API int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *out) {
    return narrow(d, "nvmlDeviceGetEnforcedPowerLimit", "limit", out);
}
API int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *out) {
    gpu *g = d;
    const char *set = find(g->facts, g->nfacts, "default_limit") ? "default_limit" : "limit";
    return narrow(d, "nvmlDeviceGetPowerManagementDefaultLimit", set, out);
}
API int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *out) {
    return narrow(d, "nvmlDeviceGetPowerManagementLimit", "limit", out);
}
API int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *out) {
    gpu *g = d;
    if (find(g->facts, g->nfacts, "energy"))
        return number(d, "nvmlDeviceGetTotalEnergyConsumption", "energy", out);
    unsigned milliwatts;
    int ret = narrow(d, "nvmlDeviceGetTotalEnergyConsumption", "power", &milliwatts);
    if (ret != OK) return ret;
    const char *module = find(g->facts, g->nfacts, "module");
    if (module) milliwatts += atoi(module);
    double at = now();
    if (g->energy_at == 0) g->energy_mj = 1e9;
    else g->energy_mj += milliwatts * (at - g->energy_at);
    g->energy_at = at;
    *out = (unsigned long long)g->energy_mj;
    return OK;
}
typedef struct {
    unsigned field, scope;
    long long timestamp, latency;
    int type, ret;
    union { double d; unsigned u; unsigned long long ull; } value;
} field_value;
API int nvmlDeviceGetFieldValues(void *d, int n, field_value *values) {
    for (int i = 0; i < n; i++) {
        if (values[i].field != 186) {
            values[i].ret = NOSUP;
            continue;
        }
        unsigned milliwatts = 0;
        gpu *g = d;
        const char *key = find(g->facts, g->nfacts, "instant") ? "instant" : "power";
        values[i].ret = narrow(d, "nvmlDeviceGetFieldValues", key, &milliwatts);
        if (values[i].ret == LOST) return LOST;
        const char *type = find(g->facts, g->nfacts, "instant_type");
        values[i].type = type ? atoi(type) : 1;
        values[i].value.ull = milliwatts;
    }
    return OK;
}
enum { CLOCK_SM = 1, ECC_UNCORRECTED = 1, ECC_VOLATILE = 0 };
API int nvmlDeviceGetClockInfo(void *d, unsigned type, unsigned *out) {
    const char *key = type == CLOCK_SM ? "clock" : "clock_of_another_domain";
    return narrow(d, "nvmlDeviceGetClockInfo", key, out);
}
API int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *out) {
    return number(d, "nvmlDeviceGetCurrentClocksEventReasons", "throttle", out);
}
API int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *out) {
    return number(d, "nvmlDeviceGetCurrentClocksThrottleReasons", "throttle", out);
}
API int nvmlDeviceGetTemperature(void *d, unsigned sensor, unsigned *out) {
    (void)sensor;
    gpu *g = d;
    const char *key = find(g->facts, g->nfacts, "old_temperature") ? "old_temperature" : "temperature";
    return narrow(d, "nvmlDeviceGetTemperature", key, out);
}
typedef struct { unsigned version, sensor; int temperature; } temperature;
API int nvmlDeviceGetTemperatureV(void *d, temperature *out) {
    if (out->version != (sizeof(temperature) | 1 << 24)) return VERSION;
    return narrow(d, "nvmlDeviceGetTemperatureV", "temperature", (unsigned *)&out->temperature);
}
API int nvmlDeviceGetTotalEccErrors(void *d, unsigned type, unsigned counter,
                                    unsigned long long *out) {
    int wanted = type == ECC_UNCORRECTED && counter == ECC_VOLATILE;
    return number(d, "nvmlDeviceGetTotalEccErrors", wanted ? "ecc" : "ecc_of_another_kind", out);
}
typedef struct { unsigned long long total, free, used; } memory1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory2;
API int nvmlDeviceGetMemoryInfo(void *d, memory1 *out) {
    int ret = number(d, "nvmlDeviceGetMemoryInfo", "memory_total", &out->total);
    if (ret == OK) ret = number(d, "nvmlDeviceGetMemoryInfo", "memory_used", &out->used);
    out->free = out->total - out->used;
    return ret;
}
API int nvmlDeviceGetMemoryInfo_v2(void *d, memory2 *out) {
    if (out->version != (sizeof(memory2) | 2 << 24)) return VERSION;
    int ret = number(d, "nvmlDeviceGetMemoryInfo_v2", "memory_total", &out->total);
    if (ret == OK) ret = number(d, "nvmlDeviceGetMemoryInfo_v2", "memory_used", &out->used);
    if (ret != OK) return ret;
    ret = number(d, "nvmlDeviceGetMemoryInfo_v2", "memory_reserved", &out->reserved);
    if (ret != OK) return ret;
    out->free = out->total - out->used - out->reserved;
    return OK;
}
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } listed;
static int list(void *d, const char *call, int kind, unsigned *count, listed *out) {
    gpu *g = d;
    note(call, g->index);
    if (!initialized) return UNINIT;
    const char *own[] = {"compute_list", "graphics_list", "mps_list"};
    const char *text = find(g->facts, g->nfacts, own[kind]);
    if (!text) text = find(g->facts, g->nfacts, "processes");
    int ret = text ? act(&text) : OK;
    if (ret != OK) return ret;
    unsigned n = 0, room = *count;
    for (int i = 0; i < g->nprocs; i++) {
        if (g->procs[i].kind != kind) continue;
        if (out && n < room) {
            out[n].pid = g->procs[i].pid;
            out[n].used = g->procs[i].bytes;
            out[n].gpu_instance = g->procs[i].instance;
            out[n].compute_instance = g->procs[i].instance == ~0U ? ~0U : 0;
        }
        n++;
    }
    *count = n;
    return n > (out ? room : 0) ? SIZE : OK;
}
API int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, listed *out) {
    return list(d, "nvmlDeviceGetComputeRunningProcesses_v3", COMPUTE, n, out);
}
API int nvmlDeviceGetGraphicsRunningProcesses_v3(void *d, unsigned *n, listed *out) {
    return list(d, "nvmlDeviceGetGraphicsRunningProcesses_v3", GRAPHICS, n, out);
}
API int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *d, unsigned *n, listed *out) {
    return list(d, "nvmlDeviceGetMPSComputeRunningProcesses_v3", MPS, n, out);
}
/* What pfid does not ask for and others do. */
API int nvmlDeviceGetEncoderUtilization(void *d, unsigned *a, unsigned *b) {
    (void)d, (void)a, (void)b;
    return NOSUP;
}
API int nvmlDeviceGetDecoderUtilization(void *d, unsigned *a, unsigned *b) {
    (void)d, (void)a, (void)b;
    return NOSUP;
}
API int nvmlDeviceGetFanSpeed(void *d, unsigned *a) {
    (void)d, (void)a;
    return NOSUP;
}
API int nvmlDeviceGetPcieThroughput(void *d, unsigned which, unsigned *a) {
    (void)d, (void)which, (void)a;
    return NOSUP;
}
API int nvmlDeviceGetProcessUtilization(void *d, void *samples, unsigned *n, unsigned long long t) {
    (void)d, (void)samples, (void)n, (void)t;
    return NOSUP;
}

typedef struct { unsigned version, supported; } gpm_support;
API int nvmlGpmQueryDeviceSupport(void *d, gpm_support *out) {
    if (out->version != 1) return VERSION;
    return narrow(d, "nvmlGpmQueryDeviceSupport", "gpm", &out->supported);
}
typedef struct { gpu *g; } gpm_sample;
API int nvmlGpmSampleAlloc(gpm_sample **out) {
    note("nvmlGpmSampleAlloc", -1);
    *out = calloc(1, sizeof **out);
    return OK;
}
API int nvmlGpmSampleFree(gpm_sample *s) { free(s); return OK; }
API int nvmlGpmSampleGet(void *d, gpm_sample *s) {
    unsigned supported;
    int ret = narrow(d, "nvmlGpmSampleGet", "gpm", &supported);
    s->g = d;
    return ret;
}
typedef struct { unsigned id; int ret; double value; const char *names[3]; } gpm_metric;
typedef struct { unsigned version, n; gpm_sample *before, *now; gpm_metric metrics[1]; } gpm_get;
API int nvmlGpmMetricsGet(gpm_get *get) {
    if (get->version != 1) return VERSION;
    if (!get->before->g || !get->now->g) return INVALID;
    for (unsigned i = 0; i < get->n; i++) {
        gpm_metric *m = &get->metrics[i];
        const char *key = m->id == 2 ? "sm" : m->id == 5 ? "tensor" : m->id == 10 ? "dram" : "-";
        const char *text;
        m->ret = value(get->now->g, "nvmlGpmMetricsGet", key, &text);
        if (m->ret == OK) m->value = atof(text);
    }
    return OK;
}
static int registered[MAX_GPUS];
API int nvmlEventSetCreate(void **out) {
    note("nvmlEventSetCreate", -1);
    memset(registered, 0, sizeof registered);
    for (int i = 0; i < nxids; i++) /* a set tells what happens after it was made */
        if (nserials_done < 256) serials_done[nserials_done++] = xids[i].serial;
    *out = &nxids;
    return OK;
}
API int nvmlEventSetFree(void *set) { (void)set; return OK; }
API int nvmlDeviceGetSupportedEventTypes(void *d, unsigned long long *out) {
    int ret = number(d, "nvmlDeviceGetSupportedEventTypes", "events", out);
    if (ret == NOSUP) { *out = 8; return OK; }
    return ret;
}
static int lost(int index) {
    const char *state = find(gpus[index].facts, gpus[index].nfacts, "state");
    return state && !strcmp(state, "error 15");
}
API int nvmlDeviceRegisterEvents(void *d, unsigned long long types, void *set) {
    (void)types, (void)set;
    gpu *g = d;
    note("nvmlDeviceRegisterEvents", g->index);
    const char *text = find(g->facts, g->nfacts, "register");
    int ret = lost(g->index) ? LOST : text ? act(&text) : OK;
    if (ret == OK) registered[g->index] = 1;
    return ret;
}
typedef struct {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
} event;
API int nvmlEventSetWait_v2(void *set, event *out, unsigned ms) {
    (void)set, (void)ms;
    note("nvmlEventSetWait_v2", -1);
    for (int i = 0; i < nxids; i++) {
        int done = 0;
        for (int k = 0; k < nserials_done; k++) done |= serials_done[k] == xids[i].serial;
        if (done || nserials_done >= 256) continue;
        serials_done[nserials_done++] = xids[i].serial;
        int known = xids[i].gpu < MAX_GPUS && xids[i].gpu >= 0;
        if (known && !registered[xids[i].gpu]) continue; /* told to nobody */
        memset(out, 0, sizeof *out);
        out->device = known ? &gpus[xids[i].gpu] : NULL;
        out->type = 8;
        out->data = xids[i].code;
        return OK;
    }
    for (int i = 0; i < MAX_GPUS; i++)
        if (registered[i] && lost(i)) return LOST;
    return TIMEOUT;
}
/* Sizes of the structures above, for a test that holds them against NVIDIA's own bindings. */
API const unsigned shim_sizes[] = {
    sizeof(pci), sizeof(rates), sizeof(field_value), sizeof(memory1), sizeof(memory2),
    sizeof(listed), sizeof(temperature), sizeof(gpm_support), sizeof(gpm_metric), sizeof(event),
};
