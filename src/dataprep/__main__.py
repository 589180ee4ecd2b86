"""`python -m dataprep` is the command line."""

from dataprep.cli import main

if __name__ == "__main__":
    main()
