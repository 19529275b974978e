"""The command line: parse, call one function, render; objects are wired together here and nowhere else."""
