"""Model files read without their runtimes: methods, shapes, and inputs for them."""
