"""What surrounded a measurement: temperature, clocks, power and load."""
