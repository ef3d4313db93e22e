/* The manifest, which describes what to run: a text file of lines "word value value", each value percent-encoded,
 * so that names and paths may contain spaces, quotes and line breaks.
 *
 *     library PATH                         the runtime's shared library
 *     model PATH
 *     input NAME DTYPE SHAPE FILE          raw bytes in C order; SHAPE is 1,3,224,224 or "-" for a scalar
 *     option NAME VALUE                    intra_op_num_threads, inter_op_num_threads, execution_mode,
 *                                          graph_optimization_level, enable_cpu_mem_arena, enable_mem_pattern
 *     config KEY VALUE                     an entry of the runtime's session configuration
 *     provider NAME [KEY VALUE]...         in order of preference
 */
#ifndef DEVPERF_MANIFEST_H
#define DEVPERF_MANIFEST_H

#include <stddef.h>

#define MOST_FIELDS 64

struct line {
    char *field[MOST_FIELDS];
    int fields;
};

struct manifest {
    struct line *line;
    size_t lines;
    const char *library;
    const char *model;
};

struct manifest *read_manifest(const char *path);
void *need(size_t count, size_t size); /* calloc that exits instead of failing */

#endif
