/* ONNX Runtime's C interface, reached by position.
 *
 * A runtime's library exports one function, OrtGetApiBase; its table of functions is append-only: a function's
 * position never changes once its version is out. The positions are those of `struct OrtApi` in
 * include/onnxruntime/core/session/onnxruntime_c_api.h, counted from zero, where static_asserts in
 * onnxruntime_c_api.cc hold the ends of the versions: ReleaseCustomOpDomain 101 (version 1),
 * ReleaseModelMetadata 118 (2), AddFreeDimensionOverrideByName 124 (3), ReleaseAvailableProviders 126 (4),
 * SetGlobalSpinControl 149 (5), ReleaseKernelInfo 218 (12). Counting so needs none of their headers. */
#ifndef DEVPERF_ORT_H
#define DEVPERF_ORT_H

#include <stddef.h>
#include <stdint.h>

#include "manifest.h"

/* Version 5 (ONNX Runtime 1.5, 2020) is the first with session configuration entries; the generic way to add a
 * provider came with version 12. */
#define ORT_LEAST_VERSION 5
#define ORT_GENERIC_PROVIDERS 12

struct tensor_type {
    char *name;
    const char *kind;  /* tensor, sequence, map, … */
    const char *dtype; /* numpy's name; null where it is no tensor */
    size_t rank;
    int64_t *shape;    /* -1 where the size is free */
    char **symbol;     /* the free dimension's name or an empty text */
};

struct runtime {
    const char *version;
    int64_t library_ns; /* cost of dlopen and the environment */
    size_t inputs, outputs;
    struct tensor_type *input, *output; /* after the first load */
};

extern struct runtime runtime;

void ort_open(const struct manifest *manifest);       /* the library and its environment        */
void ort_read_inputs(const struct manifest *manifest); /* makes the tensors of `input` lines     */
int64_t ort_load(const struct manifest *manifest, int optimise); /* a session; its cost in ns    */
void ort_unload(void);
void ort_types(void);                                  /* fills runtime.input and runtime.output */
void ort_bind(void);                                   /* puts the inputs into the model's order */
void ort_run(void);                                    /* once; outputs of the run before are released */
void ort_write_outputs(const char *folder);            /* says one object per output             */
void ort_say_providers(void);

#endif
