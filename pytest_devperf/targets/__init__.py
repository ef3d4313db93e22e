"""Devices that run workloads."""
