"""`python -m teto` is the `teto` command."""

from teto.cli.main import main

if __name__ == "__main__":
    main()
