"""The real thing: `teto serve` as a process, real weights, a real upstream, and clients as they come."""
