"""What all tests share; a plugin that tests pytest itself must be named at the root."""

pytest_plugins = ["pytester"]
