"""The option that writes the results of the pages instead of comparing them."""


def pytest_addoption(parser):
    """Add `--write-results`."""
    parser.addoption("--write-results", action="store_true", help="write what the code of the pages prints below it")
