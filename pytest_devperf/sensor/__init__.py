"""Read the conditions around a measurement: temperature, clocks, power and load."""
