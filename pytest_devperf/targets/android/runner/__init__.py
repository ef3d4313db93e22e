"""The program of this package that runs ONNX models on a phone."""
