"""Execute every notebook of a folder from top to bottom; the first error is shown and fails."""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError


def main(folder: str) -> int:
    paths = sorted(Path(folder).glob("*.ipynb"))
    for path in paths:
        start = time.perf_counter()
        notebook = nbformat.read(path, as_version=4)
        try:
            NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
        except CellExecutionError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
        print(f"{path}: {time.perf_counter() - start:.1f} s")
    return 0 if paths else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
