// The few calls that run an ExecuTorch program, in plain C, so that Python can call them without ExecuTorch's bindings,
// which need torch.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/platform/runtime.h>

namespace {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::Error;
using executorch::runtime::EValue;

struct Program {
  Program(const char* path, const char* name) : module(path, Module::LoadMode::Mmap), method(name) {}

  Module module;
  std::string method;
  std::vector<TensorPtr> tensors;
  std::vector<EValue> inputs;
  std::vector<EValue> outputs;
};

}  // namespace

extern "C" {

// Loads a method of a file; null and an error number if that fails.
void* devperf_load(const char* path, const char* method, int32_t* error) {
  executorch::runtime::runtime_init();
  auto program = std::make_unique<Program>(path, method);
  const Error failed = program->module.load_method(program->method);
  *error = static_cast<int32_t>(failed);
  return failed == Error::Ok ? program.release() : nullptr;
}

// Adds the next input; the data is not copied and must outlive the program.
void devperf_add_input(void* handle, int32_t type, int32_t rank, const int32_t* sizes, void* data) {
  auto* program = static_cast<Program*>(handle);
  program->tensors.push_back(executorch::extension::from_blob(
      data, std::vector<SizesType>(sizes, sizes + rank), static_cast<ScalarType>(type)));
  program->inputs.emplace_back(program->tensors.back());
}

// Passes the inputs and executes; 0, or an error number.
int32_t devperf_execute(void* handle) {
  auto* program = static_cast<Program*>(handle);
  auto result = program->module.execute(program->method, program->inputs);
  if (!result.ok()) {
    return static_cast<int32_t>(result.error());
  }
  program->outputs = std::move(result.get());
  return 0;
}

// Describes an output of the latest execution: 1 if it is a tensor. Sizes have room for 16 dimensions.
int32_t devperf_output(void* handle, int32_t index, int32_t* type, int32_t* rank, int32_t* sizes, const void** data) {
  auto* program = static_cast<Program*>(handle);
  if (index < 0 || static_cast<size_t>(index) >= program->outputs.size() || !program->outputs[index].isTensor()) {
    return 0;
  }
  const auto tensor = program->outputs[index].toTensor();
  if (tensor.dim() > 16) {
    return 0;
  }
  *type = static_cast<int32_t>(tensor.scalar_type());
  *rank = static_cast<int32_t>(tensor.dim());
  for (int32_t axis = 0; axis < *rank; ++axis) {
    sizes[axis] = static_cast<int32_t>(tensor.size(axis));
  }
  *data = tensor.const_data_ptr();
  return 1;
}

void devperf_drop(void* handle) { delete static_cast<Program*>(handle); }

// Returns the text of an error number.
const char* devperf_words(int32_t error) { return executorch::runtime::to_string(static_cast<Error>(error)); }

}  // extern "C"
