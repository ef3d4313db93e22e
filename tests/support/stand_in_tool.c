/* Behaves like LiteRT's benchmark_model (-DBENCHMARK) or ExecuTorch's executor_runner on a command line: takes their
   options, feeds the files it is given to y = x + x or out = a + b, times it and prints in their words.

   -DOLD: the words and options of builds from before those that take inputs and methods.
   A file that holds `OPS:TYPE name ms;TYPE name ms;.` is a model of these operators: it takes their time, and
   `--enable_op_profiling=true` prints their table; with -DTABS as older builds do.
   -DTO_LOG: as ExecuTorch's platform for Android: every line goes to the phone's log, none to the standard streams. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 4096

static const char *flags[] = {
#if defined(BENCHMARK) && defined(OLD)
    "graph", "num_runs", "warmup_runs", "input_layer", "input_layer_shape",
#elif defined(BENCHMARK)
    "graph", "num_runs", "warmup_runs", "min_secs", "warmup_min_secs", "input_layer", "input_layer_shape",
    "input_layer_value_files", "signature_to_run_for", "output_filepath", "num_threads", "use_gpu", "help",
    "enable_op_profiling",
#elif defined(OLD)
    "model_path", "num_executions", "help",
#else
    "model_path", "num_executions", "method_name", "inputs", "output_file", "print_output", "cpu_threads", "help",
#endif
    NULL};

static char *given[16];

static void print_line(const char *format, ...) {
  char line[512];
  va_list words;
  va_start(words, format);
  vsnprintf(line, sizeof line, format, words);
  va_end(words);
#if defined(TO_LOG)
  char command[600];
  snprintf(command, sizeof command, "log -t ExecuTorch '%s'", line);
  if (system(command) != 0) exit(9);
#elif defined(BENCHMARK)
  printf("INFO: %s\n", line);
#else
  fprintf(stderr, "I 00:00:00.000001 executorch:executor_runner.cpp:1] %s\n", line);
#endif
}

static const char *value(const char *name) {
  for (int i = 0; flags[i] != NULL; ++i)
    if (strcmp(flags[i], name) == 0) return given[i] == NULL ? "" : given[i];
  return "";
}

static void parse(int argc, char **argv) {
  for (int at = 1; at < argc; ++at) {
    int known = 0;
    for (int i = 0; flags[i] != NULL; ++i) {
      const size_t size = strlen(flags[i]);
      if (strncmp(argv[at], "--", 2) == 0 && strncmp(argv[at] + 2, flags[i], size) == 0 && argv[at][2 + size] == '=') {
        given[i] = argv[at] + 3 + size;
        known = 1;
      }
    }
    if (known) continue;
#if defined(BENCHMARK)
    printf("WARN: Unconsumed cmdline flags: %s\n", argv[at]);
#else
    fprintf(stderr, "ERROR: unknown command line flag '%s'\n", argv[at] + 2);
    exit(1);
#endif
  }
  if (strcmp(value("help"), "true") != 0) return;
  for (int i = 0; flags[i] != NULL; ++i) {
#if defined(BENCHMARK)
    printf("\t--%s=%s\tstring\toptional\twhat it is\n", flags[i], "");
#else
    printf("    -%s (What it is.) type: string default: \"\"\n", flags[i]);
#endif
  }
  exit(1);
}

static void check_model(const char *path, const char *stamp) {
  char head[8];
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(head, 1, 8, file) != 8 || strncmp(head + 4, stamp, strlen(stamp)) != 0) {
    print_line("Failed to load model %s", path);
    exit(1);
  }
  fclose(file);
}

#if defined(BENCHMARK)
struct op {
  char type[64], name[64];
  double ms;
};

static size_t read_ops(const char *path, struct op *ops, size_t most) {
  static char text[1 << 16];
  FILE *file = fopen(path, "rb");
  size_t size = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file), found = 0;
  if (file != NULL) fclose(file);
  for (size_t at = 0; at + 4 < size; ++at) {
    if (memcmp(text + at, "OPS:", 4) != 0) continue;
    for (const char *line = text + at + 4; found < most; ++found) {
      struct op *op = &ops[found];
      if (sscanf(line, "%63[^ ;.] %63[^ ;] %lf", op->type, op->name, &op->ms) != 3) return found;
      line = strchr(line, ';') + 1;
    }
  }
  return found;
}

static void print_table(const char *title, const struct op *ops, size_t count) {
  printf("============================== %s ==============================\n", title);
#if defined(TABS)
  printf("\t%24s\t%17s\t%9s\t%9s\t%8s\t%8s\t%10s\t%9s\t%s\n", "[node type]", "[start]", "[first]", "[avg ms]", "[%]",
         "[cdf%]", "[mem KB]", "[times called]", "[Name]");
#else
  printf("%44s %16s %15s %14s %15s %17s %21s  %s\n", "[node type]", "[first]", "[avg ms]", "[%]", "[cdf%]", "[mem KB]",
         "[times called]", "[Name]");
#endif
  for (size_t i = 0; i < count; ++i) {
#if defined(TABS)
    printf("\t%24s\t%17.3f\t%9.3f\t%9.3f\t%7.3f%%\t%7.3f%%\t%10.3f\t%9d\t[%s]:%zu\n", ops[i].type, 0.0, ops[i].ms,
           ops[i].ms, 1.0, 1.0, 0.0, 1, ops[i].name, i);
#else
    printf("%44s %16.3f %15.3f %13.3f%% %14.3f%% %17.3f %21d  [%s]:%zu\n", ops[i].type, ops[i].ms, ops[i].ms, 1.0, 1.0, 0.0,
           1, ops[i].name, i);
#endif
  }
  printf("\n");
}
#endif

static size_t read_input(const char *path, size_t size, float *into) {
  char name[256];
  snprintf(name, sizeof name, "%.*s", (int)size, path);
  FILE *file = fopen(name, "rb");
  if (file == NULL) {
    print_line("Failed to open input file: %s", name);
    exit(1);
  }
  const size_t count = fread(into, sizeof(float), MOST, file);
  fclose(file);
  return count;
}

static double work(const float *a, const float *b, volatile float *out, size_t count) {
  struct timespec began, ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  for (int again = 0; again < 50; ++again)
    for (size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
  clock_gettime(CLOCK_MONOTONIC, &ended);
  return (double)(ended.tv_sec - began.tv_sec) * 1e9 + (double)(ended.tv_nsec - began.tv_nsec) + 1.0;
}

static void write_output(const char *path, const float *values, size_t count) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) exit(8);
  fwrite(values, sizeof(float), count, file);
  fclose(file);
}

int main(int argc, char **argv) {
  static float a[MOST], b[MOST], out[MOST];
  size_t count = 6;
  parse(argc, argv);
  /* Loading takes a real tool about as long. */
  const struct timespec loading = {0, 100 * 1000 * 1000};
  nanosleep(&loading, NULL);
  for (size_t i = 0; i < MOST; ++i) a[i] = b[i] = 1.0F;
#if defined(BENCHMARK)
  check_model(value("graph"), "TFL3");
  const int runs = atoi(value("num_runs")), warmup = atoi(value("warmup_runs"));
  const char *files = value("input_layer_value_files");
  if (*files != '\0') {
    const char *file = strchr(files, ':') + 1;
    count = read_input(file, strcspn(file, ","), a);
    memcpy(b, a, sizeof a);
  }
  print_line("Initialized session in %gms.", 0.855);
  double first = 0.0, warm = 0.0, sum = 0.0;
  for (int i = 0; i < warmup; ++i) {
    const double ns = work(a, b, out, count);
    if (i == 0) first = ns;
    warm += ns;
  }
  for (int i = 0; i < runs; ++i) sum += work(a, b, out, count);
  static struct op ops[64];
  const size_t operators = read_ops(value("graph"), ops, 64);
  if (operators > 0) sum = 0.0;
  for (size_t i = 0; i < operators; ++i) sum += ops[i].ms * 1e6 * runs;
#if defined(OLD)
  printf("Average inference timings in us: Warmup: %g, Init: %d, Inference: %g\n", warm / 1e3, 855, sum / runs / 1e3);
#else
  print_line("Inference timings in us: Init: %d, First inference: %g, Warmup (avg): %g, Inference (avg): %g", 855, first / 1e3,
       warmup > 0 ? warm / warmup / 1e3 : 0.0, sum / runs / 1e3);
#endif
#if !defined(OLD)
  if (strcmp(value("enable_op_profiling"), "true") == 0) {
    static const struct op loading_it = {"AllocateTensors", "AllocateTensors/0", 9.0};
    print_line("Profiling Info for Benchmark Initialization:");
    print_table("Run Order", &loading_it, 1);
    print_line("Operator-wise Profiling Info for Regular Benchmark Runs:");
    print_table("Run Order", ops, operators);
    print_table("Top by Computation Time", ops, operators);
  }
#endif
  if (*value("signature_to_run_for") != '\0') print_line("Using signature: %s", value("signature_to_run_for"));
  if (*value("use_gpu") != '\0') print_line("Explicitly applied GPU delegate: %s", value("use_gpu"));
  if (*value("output_filepath") != '\0') write_output(value("output_filepath"), out, count);
#else
  check_model(value("model_path"), "ET");
  const int runs = atoi(value("num_executions"));
  const char *inputs = value("inputs");
  if (*inputs != '\0') {
    const char *second = strchr(inputs, ',') + 1;
    count = read_input(inputs, (size_t)(second - inputs) - 1, a);
    read_input(second, strlen(second), b);
  }
  print_line("Using method %s", *value("method_name") != '\0' ? value("method_name") : "forward");
  if (strcmp(value("method_name"), "broken") == 0) {
    print_line("Execution of method broken failed with status 0x1");
    abort();
  }
#if !defined(OLD)
  print_line("Model loaded in %f ms.", 0.75);
#endif
  double sum = 0.0;
  for (int i = 0; i < runs; ++i) {
    const double ns = work(a, b, out, count);
    sum += ns;
#if !defined(OLD)
    print_line("Iteration %d of %d: %f ms", i + 1, runs, ns / 1e6);
#endif
  }
  print_line("Model executed successfully %d time(s) in %f ms.", runs, sum / 1e6);
  char name[256];
  snprintf(name, sizeof name, "%s-0.bin", value("output_file"));
  if (*value("output_file") != '\0') write_output(name, out, count);
#endif
  return 0;
}
