"""The commands of Android on a simulated phone, and its apps."""
