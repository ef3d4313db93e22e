"""The program of our own that runs ONNX models on a phone."""
