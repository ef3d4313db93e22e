/* ONNX Runtime's C interface, called by position.
 *
 * The library exports one function, OrtGetApiBase. Its table of functions is append-only: the position of a function
 * never changes after a release. The positions are those of `struct OrtApi` in
 * include/onnxruntime/core/session/onnxruntime_c_api.h, counted from zero; static_asserts in onnxruntime_c_api.cc
 * state the last position of each version: ReleaseCustomOpDomain 101 (version 1), ReleaseModelMetadata 118 (2),
 * AddFreeDimensionOverrideByName 124 (3), ReleaseAvailableProviders 126 (4), SetGlobalSpinControl 149 (5),
 * ReleaseKernelInfo 218 (12). So no header of ONNX Runtime is needed. */
#ifndef DEVPERF_ORT_H
#define DEVPERF_ORT_H

#include <stddef.h>
#include <stdint.h>

#include "manifest.h"

/* Version 5 (ONNX Runtime 1.5, 2020) is the first with session configuration entries; version 12 added the generic
 * function for providers. */
#define ORT_LEAST_VERSION 5
#define ORT_GENERIC_PROVIDERS 12

struct tensor_type {
    char *name;
    const char *kind;  /* tensor, sequence, map, … */
    const char *dtype; /* numpy's name; null if it is not a tensor */
    size_t rank;
    int64_t *shape;    /* -1 if the size is free */
    char **symbol;     /* the free dimension's name, or empty */
};

struct runtime {
    const char *version;
    int64_t library_ns; /* cost of dlopen and the environment */
    size_t inputs, outputs;
    struct tensor_type *input, *output; /* filled after the first load */
};

extern struct runtime runtime;

void ort_open(const struct manifest *manifest);       /* opens the library, makes its environment */
void ort_read_inputs(const struct manifest *manifest); /* makes the tensors of `input` lines    */
int64_t ort_load(const struct manifest *manifest, int optimise); /* makes a session; returns its cost in ns */
void ort_unload(void);
void ort_types(void);                                  /* fills runtime.input and runtime.output */
void ort_bind(void);                                   /* puts the inputs into the model's order */
void ort_run(void);                                    /* runs once; releases the previous outputs */
/* Replaces the session by one that times each node, runs it, and returns the file of the times, whose name begins with
 * the prefix. The session stays, and times its nodes no longer. */
char *ort_trace(const struct manifest *manifest, const char *prefix, int64_t iterations);
void ort_write_outputs(const char *folder);            /* prints one object per output            */
void ort_write_providers(void);

#endif
