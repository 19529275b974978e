"""What a token costs, from first principles: pure functions of a shape, weights and a device."""
