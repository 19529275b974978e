"""Facts as dated data files, and the readers of model files."""
