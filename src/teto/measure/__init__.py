"""What is measured: this machine, and an upstream seen from it."""
