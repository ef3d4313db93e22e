#define _GNU_SOURCE
#include "ort.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "json_writer.h"

/* Opaque objects of the runtime. */
typedef struct Status Status;
typedef struct Value Value;
typedef struct Object Object;

struct api_base {
    void *const *(*api)(uint32_t version);
    const char *(*version)(void);
};

enum position {
    GetErrorMessage = 2,
    CreateEnv = 3,
    CreateSession = 7,
    Run = 9,
    CreateSessionOptions = 10,
    SetSessionExecutionMode = 13,
    EnableProfiling = 14,
    EnableMemPattern = 16,
    DisableMemPattern = 17,
    EnableCpuMemArena = 18,
    DisableCpuMemArena = 19,
    SetSessionGraphOptimizationLevel = 23,
    SetIntraOpNumThreads = 24,
    SetInterOpNumThreads = 25,
    SessionGetInputCount = 30,
    SessionGetOutputCount = 31,
    SessionGetInputTypeInfo = 33,
    SessionGetOutputTypeInfo = 34,
    SessionGetInputName = 36,
    SessionGetOutputName = 37,
    CreateTensorAsOrtValue = 48,
    CreateTensorWithDataAsOrtValue = 49,
    GetTensorMutableData = 51,
    FillStringTensor = 52,
    GetStringTensorDataLength = 53,
    GetStringTensorContent = 54,
    CastTypeInfoToTensorInfo = 55,
    GetOnnxTypeFromTypeInfo = 56,
    GetTensorElementType = 60,
    GetDimensionsCount = 61,
    GetDimensions = 62,
    GetSymbolicDimensions = 63,
    GetTensorShapeElementCount = 64,
    GetTensorTypeAndShape = 65,
    GetValueType = 67,
    CreateCpuMemoryInfo = 69,
    GetAllocatorWithDefaultOptions = 78,
    ReleaseStatus = 93,
    ReleaseSession = 95,
    ReleaseValue = 96,
    ReleaseTypeInfo = 98,
    ReleaseTensorTypeAndShapeInfo = 99,
    ReleaseSessionOptions = 100,
    SessionEndProfiling = 110,
    GetAvailableProviders = 125,
    AddSessionConfigEntry = 130,
    AppendExecutionProvider = 216,
};

/* ONNXTensorElementDataType, in its order; numpy's names. Sub-byte types pack two elements in a byte. */
static const struct {
    const char *name;
    int bits;
} DTYPES[] = {
    {"undefined", 0}, {"float32", 32},  {"uint8", 8},       {"int8", 8},          {"uint16", 16},
    {"int16", 16},    {"int32", 32},    {"int64", 64},      {"string", 0},        {"bool", 8},
    {"float16", 16},  {"float64", 64},  {"uint32", 32},     {"uint64", 64},       {"complex64", 64},
    {"complex128", 128}, {"bfloat16", 16}, {"float8_e4m3fn", 8}, {"float8_e4m3fnuz", 8}, {"float8_e5m2", 8},
    {"float8_e5m2fnuz", 8}, {"uint4", 4}, {"int4", 4},
};
#define DTYPE_COUNT ((int)(sizeof DTYPES / sizeof DTYPES[0]))
#define STRING_TYPE 8

/* ONNXType, in its order. */
static const char *const KINDS[] = {"unknown", "tensor", "sequence", "map", "opaque", "sparse tensor", "optional"};
#define TENSOR_KIND 1

struct given { /* an input read from a file */
    const char *name;
    Value *value;
};

struct runtime runtime;

static void *const *api;
static void *library;
static Object *environment, *session, *allocator, *cpu;
static int api_version;
static struct given *given;
static size_t givens;
static const char **input_names, **output_names;
static Value **inputs, **outputs;

/* The function at a position, cast to its type. */
#define AT(position, type) (*(type)(uintptr_t)api[position])
typedef Status *(*f_p)(void *);
typedef Status *(*f_pp)(void *, void *);
typedef Status *(*f_pi)(void *, int);
typedef void (*f_release)(void *);

static void check(Status *status, const char *stage) {
    if (status == NULL) return;
    fail(stage, "%s", AT(GetErrorMessage, const char *(*)(const Status *))(status));
}

static int supported_version(const char *text) {
    int major = 0, minor = 0;
    if (sscanf(text, "%d.%d", &major, &minor) != 2) return ORT_LEAST_VERSION;
    if (major > 1 || minor >= ORT_GENERIC_PROVIDERS) return ORT_GENERIC_PROVIDERS;
    return ORT_LEAST_VERSION;
}

void ort_open(const struct manifest *manifest) {
    int64_t start = wall_ns();
    library = dlopen(manifest->library, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) fail("library", "%s", dlerror());
    const struct api_base *(*entry)(void) = (const struct api_base *(*)(void))(uintptr_t)dlsym(library, "OrtGetApiBase");
    if (entry == NULL) fail("library", "%s is not ONNX Runtime: it has no OrtGetApiBase", manifest->library);
    runtime.version = entry()->version();
    api_version = supported_version(runtime.version);
    api = entry()->api((uint32_t)api_version);
    if (api == NULL) fail("library", "ONNX Runtime %s is too old: it has no interface %d", runtime.version, api_version);
    /* 3: errors only, since a warning printed in a loop takes time. */
    check(AT(CreateEnv, Status *(*)(int, const char *, Object **))(3, "devperf", &environment), "library");
    check(AT(GetAllocatorWithDefaultOptions, f_p)(&allocator), "library");
    check(AT(CreateCpuMemoryInfo, Status *(*)(int, int, Object **))(0, 0, &cpu), "library");
    runtime.library_ns = wall_ns() - start;
}

/* ---- options and providers ---- */

static int truth(const char *text) {
    return strcmp(text, "1") == 0 || strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
}

static int level(const char *text) { /* GraphOptimizationLevel: 0, 1, 2, (3) and 99 */
    if (strcmp(text, "ORT_DISABLE_ALL") == 0) return 0;
    if (strcmp(text, "ORT_ENABLE_BASIC") == 0) return 1;
    if (strcmp(text, "ORT_ENABLE_EXTENDED") == 0) return 2;
    if (strcmp(text, "ORT_ENABLE_LAYOUT") == 0) return 3;
    if (strcmp(text, "ORT_ENABLE_ALL") == 0) return 99;
    return atoi(text);
}

static Status *set_option(Object *options, const char *name, const char *value) {
    if (strcmp(name, "intra_op_num_threads") == 0) return AT(SetIntraOpNumThreads, f_pi)(options, atoi(value));
    if (strcmp(name, "inter_op_num_threads") == 0) return AT(SetInterOpNumThreads, f_pi)(options, atoi(value));
    if (strcmp(name, "graph_optimization_level") == 0)
        return AT(SetSessionGraphOptimizationLevel, f_pi)(options, level(value));
    if (strcmp(name, "execution_mode") == 0)
        return AT(SetSessionExecutionMode, f_pi)(options, strcmp(value, "ORT_PARALLEL") == 0 || atoi(value) == 1);
    if (strcmp(name, "enable_cpu_mem_arena") == 0)
        return truth(value) ? AT(EnableCpuMemArena, f_p)(options) : AT(DisableCpuMemArena, f_p)(options);
    if (strcmp(name, "enable_mem_pattern") == 0)
        return truth(value) ? AT(EnableMemPattern, f_p)(options) : AT(DisableMemPattern, f_p)(options);
    fail("options", "session option '%s' is not known here", name);
}

static int has_provider(const char *name) {
    char **names = NULL;
    int count = 0, found = 0;
    check(AT(GetAvailableProviders, Status *(*)(char ***, int *))(&names, &count), "providers");
    for (int i = 0; i < count; i++) found |= strcmp(names[i], name) == 0;
    if (found) return 1;
    char text[1024] = "";
    for (int i = 0; i < count; i++) {
        if (i) strncat(text, ", ", sizeof text - strlen(text) - 1);
        strncat(text, names[i], sizeof text - strlen(text) - 1);
    }
    fail("providers", "provider %s is not in this runtime; it has %s", name, text);
}

/* Names for the generic call, if they differ from the provider's name without "ExecutionProvider". */
static const char *generic_name(const char *name, char *room, size_t size) {
    if (strcmp(name, "XnnpackExecutionProvider") == 0) return "XNNPACK";
    if (strcmp(name, "WebGpuExecutionProvider") == 0) return "WebGPU";
    if (strcmp(name, "AzureExecutionProvider") == 0) return "AZURE";
    if (strcmp(name, "JsExecutionProvider") == 0) return "JS";
    snprintf(room, size, "%s", name);
    char *tail = strstr(room, "ExecutionProvider");
    if (tail != NULL) *tail = 0;
    return room;
}

static void add_provider(Object *options, const struct line *line) {
    const char *name = line->field[1];
    const char *keys[MOST_FIELDS], *values[MOST_FIELDS];
    size_t count = 0;
    char room[128];
    has_provider(name);
    if (strcmp(name, "CPUExecutionProvider") == 0) return; /* always available, and always last */
    for (int i = 2; i + 1 < line->fields; i += 2) {
        keys[count] = line->field[i];
        values[count++] = line->field[i + 1];
    }
    if (strcmp(name, "NnapiExecutionProvider") == 0) { /* older than the generic call; has its own exported function */
        Status *(*append)(void *, uint32_t) =
            (Status * (*)(void *, uint32_t))(uintptr_t) dlsym(library, "OrtSessionOptionsAppendExecutionProvider_Nnapi");
        if (append == NULL) fail("providers", "this runtime exports no way to add %s", name);
        uint32_t flags = count && strcmp(keys[0], "flags") == 0 ? (uint32_t)strtoul(values[0], NULL, 0) : 0;
        check(append(options, flags), "providers");
        return;
    }
    if (api_version < ORT_GENERIC_PROVIDERS)
        fail("providers", "ONNX Runtime %s cannot add %s by name: use 1.12 or newer", runtime.version, name);
    check(AT(AppendExecutionProvider,
             Status *(*)(void *, const char *, const char *const *, const char *const *, size_t))(
              options, generic_name(name, room, sizeof room), keys, values, count),
          "providers");
}

static Object *make_options(const struct manifest *manifest, int optimise) {
    Object *options = NULL;
    check(AT(CreateSessionOptions, f_p)(&options), "options");
    for (size_t i = 0; i < manifest->lines; i++) {
        const struct line *line = &manifest->line[i];
        const char *word = line->field[0];
        if (strcmp(word, "option") == 0 && line->fields == 3)
            check(set_option(options, line->field[1], line->field[2]), "options");
        else if (strcmp(word, "config") == 0 && line->fields == 3)
            check(AT(AddSessionConfigEntry, Status *(*)(void *, const char *, const char *))(
                      options, line->field[1], line->field[2]),
                  "options");
        else if (strcmp(word, "provider") == 0 && optimise)
            add_provider(options, line);
    }
    if (!optimise) check(AT(SetSessionGraphOptimizationLevel, f_pi)(options, 0), "options");
    return options;
}

static int64_t load_session(const struct manifest *manifest, int optimise, const char *trace) {
    if (manifest->model == NULL) fail("manifest", "the manifest names no model");
    int64_t start = wall_ns();
    Object *options = make_options(manifest, optimise);
    if (trace != NULL) check(AT(EnableProfiling, Status *(*)(void *, const char *))(options, trace), "options");
    check(AT(CreateSession, Status *(*)(void *, const char *, void *, Object **))(environment, manifest->model, options,
                                                                                  &session),
          "load");
    int64_t spent = wall_ns() - start;
    AT(ReleaseSessionOptions, f_release)(options);
    return spent;
}

int64_t ort_load(const struct manifest *manifest, int optimise) { return load_session(manifest, optimise, NULL); }

static void release_outputs(void) {
    for (size_t i = 0; outputs != NULL && i < runtime.outputs; i++) {
        if (outputs[i] != NULL) AT(ReleaseValue, f_release)(outputs[i]);
        outputs[i] = NULL;
    }
}

void ort_unload(void) {
    release_outputs();
    if (session != NULL) AT(ReleaseSession, f_release)(session);
    session = NULL;
}

void ort_write_providers(void) {
    char **names = NULL;
    int count = 0;
    check(AT(GetAvailableProviders, Status *(*)(char ***, int *))(&names, &count), "providers");
    json_open_list("providers");
    for (int i = 0; i < count; i++) json_item_text(names[i]);
    json_close_list();
}

/* ---- types ---- */

static const char *dtype_name(int code) { return code > 0 && code < DTYPE_COUNT ? DTYPES[code].name : "undefined"; }

static void read_shape(const void *info, struct tensor_type *type) {
    int code = 0;
    check(AT(GetTensorElementType, Status *(*)(const void *, int *))(info, &code), "types");
    check(AT(GetDimensionsCount, Status *(*)(const void *, size_t *))(info, &type->rank), "types");
    type->dtype = dtype_name(code);
    type->shape = need(type->rank, sizeof *type->shape);
    type->symbol = need(type->rank, sizeof *type->symbol);
    if (type->rank == 0) return;
    check(AT(GetDimensions, Status *(*)(const void *, int64_t *, size_t))(info, type->shape, type->rank), "types");
    const char **symbols = need(type->rank, sizeof *symbols);
    check(AT(GetSymbolicDimensions, Status *(*)(const void *, const char **, size_t))(info, symbols, type->rank), "types");
    for (size_t i = 0; i < type->rank; i++) type->symbol[i] = strdup(symbols[i] ? symbols[i] : "");
    free(symbols);
}

static void read_type(size_t index, int is_input, struct tensor_type *type) {
    void *info = NULL;
    const void *tensor = NULL;
    int kind = 0;
    typedef Status *(*f_name)(void *, size_t, void *, char **);
    typedef Status *(*f_info)(void *, size_t, void **);
    if (is_input) {
        check(AT(SessionGetInputName, f_name)(session, index, allocator, &type->name), "types");
        check(AT(SessionGetInputTypeInfo, f_info)(session, index, &info), "types");
    } else {
        check(AT(SessionGetOutputName, f_name)(session, index, allocator, &type->name), "types");
        check(AT(SessionGetOutputTypeInfo, f_info)(session, index, &info), "types");
    }
    check(AT(GetOnnxTypeFromTypeInfo, Status *(*)(const void *, int *))(info, &kind), "types");
    type->kind = kind >= 0 && kind < (int)(sizeof KINDS / sizeof KINDS[0]) ? KINDS[kind] : "unknown";
    if (kind == TENSOR_KIND) {
        check(AT(CastTypeInfoToTensorInfo, Status *(*)(const void *, const void **))(info, &tensor), "types");
        if (tensor != NULL) read_shape(tensor, type);
    }
    AT(ReleaseTypeInfo, f_release)(info);
}

void ort_types(void) {
    check(AT(SessionGetInputCount, Status *(*)(void *, size_t *))(session, &runtime.inputs), "types");
    check(AT(SessionGetOutputCount, Status *(*)(void *, size_t *))(session, &runtime.outputs), "types");
    runtime.input = need(runtime.inputs, sizeof *runtime.input);
    runtime.output = need(runtime.outputs, sizeof *runtime.output);
    for (size_t i = 0; i < runtime.inputs; i++) read_type(i, 1, &runtime.input[i]);
    for (size_t i = 0; i < runtime.outputs; i++) read_type(i, 0, &runtime.output[i]);
}

/* ---- inputs ---- */

static void *read_whole(const char *path, size_t *length) {
    FILE *file = fopen(path, "re");
    if (file == NULL) fail("inputs", "%s: %s", path, strerror(errno));
    if (fseek(file, 0, SEEK_END) != 0) fail("inputs", "%s: %s", path, strerror(errno));
    long size = ftell(file);
    rewind(file);
    /* 64: the alignment of ONNX Runtime's own allocator, on which vector code may rely. */
    void *data = NULL;
    if (size < 0 || posix_memalign(&data, 64, (size_t)size + 64) != 0) fail("memory", "no memory for %s", path);
    if (fread(data, 1, (size_t)size, file) != (size_t)size) fail("inputs", "%s: cut short", path);
    ((char *)data)[size] = 0;
    fclose(file);
    *length = (size_t)size;
    return data;
}

static size_t parse_shape(const char *text, int64_t *shape, size_t most) {
    size_t rank = 0;
    if (strcmp(text, "-") == 0) return 0;
    for (const char *at = text; *at && rank < most;) {
        char *end = NULL;
        shape[rank++] = strtoll(at, &end, 10);
        if (end == at) fail("manifest", "'%s' is not a shape", text);
        at = *end == ',' ? end + 1 : end;
    }
    return rank;
}

static Value *text_tensor(const char *name, char *data, size_t length, const int64_t *shape, size_t rank) {
    Value *value = NULL;
    size_t count = 1, have = 0;
    for (size_t i = 0; i < rank; i++) count *= (size_t)shape[i];
    const char **texts = need(count, sizeof *texts);
    for (char *at = data; at < data + length && have < count; at += strlen(at) + 1) texts[have++] = at;
    if (have != count) fail("inputs", "input '%s' has %zu of %zu texts", name, have, count);
    check(AT(CreateTensorAsOrtValue, Status *(*)(void *, const int64_t *, size_t, int, Value **))(
              allocator, shape, rank, STRING_TYPE, &value),
          "inputs");
    check(AT(FillStringTensor, Status *(*)(void *, const char *const *, size_t))(value, texts, count), "inputs");
    free(texts);
    return value;
}

static Value *read_tensor(const struct line *line) {
    int64_t shape[32];
    size_t length = 0, rank = parse_shape(line->field[3], shape, 32);
    int code = 0;
    Value *value = NULL;
    for (int i = 1; i < DTYPE_COUNT; i++)
        if (strcmp(DTYPES[i].name, line->field[2]) == 0) code = i;
    if (code == 0) fail("inputs", "input '%s': dtype %s is not supported", line->field[1], line->field[2]);
    void *data = read_whole(line->field[4], &length);
    if (code == STRING_TYPE) return text_tensor(line->field[1], data, length, shape, rank);
    check(AT(CreateTensorWithDataAsOrtValue,
             Status *(*)(const void *, void *, size_t, const int64_t *, size_t, int, Value **))(
              cpu, data, length, shape, rank, code, &value),
          "inputs");
    return value;
}

void ort_read_inputs(const struct manifest *manifest) {
    given = need(manifest->lines, sizeof *given);
    for (size_t i = 0; i < manifest->lines; i++) {
        const struct line *line = &manifest->line[i];
        if (strcmp(line->field[0], "input") != 0) continue;
        if (line->fields != 5) fail("manifest", "an input line needs name, dtype, shape and file");
        given[givens].name = line->field[1];
        given[givens++].value = read_tensor(line);
    }
}

void ort_bind(void) {
    inputs = need(runtime.inputs, sizeof *inputs);
    outputs = need(runtime.outputs, sizeof *outputs);
    input_names = need(runtime.inputs, sizeof *input_names);
    output_names = need(runtime.outputs, sizeof *output_names);
    for (size_t i = 0; i < runtime.outputs; i++) output_names[i] = runtime.output[i].name;
    for (size_t i = 0; i < runtime.inputs; i++) {
        input_names[i] = runtime.input[i].name;
        for (size_t j = 0; j < givens; j++)
            if (strcmp(given[j].name, input_names[i]) == 0) inputs[i] = given[j].value;
        if (inputs[i] == NULL) fail("inputs", "the model's input '%s' was not given", input_names[i]);
    }
    for (size_t j = 0; j < givens; j++) {
        int known = 0;
        for (size_t i = 0; i < runtime.inputs; i++) known |= strcmp(given[j].name, input_names[i]) == 0;
        if (!known) fail("inputs", "the model has no input '%s'", given[j].name);
    }
}

void ort_run(void) {
    release_outputs();
    check(AT(Run, Status *(*)(void *, const void *, const char *const *, Value *const *, size_t, const char *const *,
                              size_t, Value **))(session, NULL, input_names, inputs, runtime.inputs, output_names,
                                                 runtime.outputs, outputs),
          "run");
}

char *ort_trace(const struct manifest *manifest, const char *prefix, int64_t iterations) {
    char *file = NULL;
    ort_unload(); /* the memory of a phone may not hold a model twice */
    load_session(manifest, 1, prefix);
    for (int64_t i = 0; i < iterations; i++) ort_run();
    check(AT(SessionEndProfiling, Status *(*)(void *, void *, char **))(session, allocator, &file), "trace");
    return file;
}

/* ---- outputs ---- */

static void write_whole(const char *path, const void *data, size_t length) {
    FILE *file = fopen(path, "we");
    if (file == NULL || fwrite(data, 1, length, file) != length || fclose(file) != 0)
        fail("outputs", "%s: %s", path, strerror(errno));
}

static void write_texts(const char *path, Value *value, size_t count) {
    size_t length = 0;
    check(AT(GetStringTensorDataLength, Status *(*)(const void *, size_t *))(value, &length), "outputs");
    char *texts = need(length + 1, 1);
    size_t *offsets = need(count, sizeof *offsets);
    check(AT(GetStringTensorContent, Status *(*)(const void *, void *, size_t, size_t *, size_t))(value, texts, length,
                                                                                                  offsets, count),
          "outputs");
    char *joined = need(length + count, 1);
    size_t to = 0;
    for (size_t i = 0; i < count; i++) { /* each text ends with a zero byte */
        size_t end = i + 1 < count ? offsets[i + 1] : length;
        memcpy(joined + to, texts + offsets[i], end - offsets[i]);
        to += end - offsets[i] + 1;
    }
    write_whole(path, joined, to);
    free(joined);
    free(offsets);
    free(texts);
}

static void write_tensor(size_t index, const char *path) {
    Object *info = NULL;
    void *data = NULL;
    size_t rank = 0, count = 0;
    int code = 0;
    check(AT(GetTensorTypeAndShape, Status *(*)(const void *, Object **))(outputs[index], &info), "outputs");
    check(AT(GetTensorElementType, Status *(*)(const void *, int *))(info, &code), "outputs");
    check(AT(GetDimensionsCount, Status *(*)(const void *, size_t *))(info, &rank), "outputs");
    check(AT(GetTensorShapeElementCount, Status *(*)(const void *, size_t *))(info, &count), "outputs");
    int64_t *shape = need(rank, sizeof *shape);
    check(AT(GetDimensions, Status *(*)(const void *, int64_t *, size_t))(info, shape, rank), "outputs");
    json_text("dtype", dtype_name(code));
    json_open_list("shape");
    for (size_t i = 0; i < rank; i++) json_item_int(shape[i]);
    json_close_list();
    json_text("file", path);
    free(shape);
    AT(ReleaseTensorTypeAndShapeInfo, f_release)(info);
    if (code == STRING_TYPE) {
        write_texts(path, outputs[index], count);
        return;
    }
    if (code <= 0 || code >= DTYPE_COUNT) fail("outputs", "output '%s' has an unknown element type", output_names[index]);
    check(AT(GetTensorMutableData, f_pp)(outputs[index], &data), "outputs");
    write_whole(path, data, (count * (size_t)DTYPES[code].bits + 7) / 8);
}

void ort_write_outputs(const char *folder) {
    char path[4096];
    for (size_t i = 0; i < runtime.outputs; i++) {
        int kind = 0;
        json_open_object();
        json_text("name", output_names[i]);
        if (outputs[i] != NULL)
            check(AT(GetValueType, Status *(*)(const void *, int *))(outputs[i], &kind), "outputs");
        json_text("kind", kind >= 0 && kind < (int)(sizeof KINDS / sizeof KINDS[0]) ? KINDS[kind] : "unknown");
        if (kind == TENSOR_KIND) {
            snprintf(path, sizeof path, "%s/%zu.raw", folder, i);
            write_tensor(i, path);
        }
        json_close_object();
    }
}
