"""A fresh environment outside the tree, in which commands are run as a reader of the README would type them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import arcbandit
from tests.docstrings import ROOT

VERSION = arcbandit.__version__
INSTALLING = 600  # seconds, for some hundred megabytes from an index
PLAYING = 300  # seconds, for a command that may compile


class Environment:
    """A virtual environment; pip finds the built files in `dist`, and versions of all others in the lock.

    Its home folder is its own, and so is what it compiles: kernels are kept by the place that they are installed in.
    """

    def __init__(self, folder: Path, dist: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True, timeout=PLAYING)
        self._bin = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        constraints = folder / "constraints.txt"
        pins = (ROOT / "requirements.lock").read_text("utf-8")
        constraints.write_text(f"{pins}arcbandit=={VERSION}\n", encoding="utf-8")
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ARCBANDIT", "XDG"))
        }
        self.variables = inherited | {
            "PATH": os.pathsep.join([str(self._bin), os.environ["PATH"]]),
            "HOME": str(self.home),
            "VIRTUAL_ENV": str(folder / "venv"),
            "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip")),
            "PIP_CONSTRAINT": str(constraints),
            "PIP_FIND_LINKS": " ".join([str(dist), os.environ.get("PIP_FIND_LINKS", "")]).strip(),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_COMPILE": "1",  # what is imported is compiled then; most never is
            "PIP_QUIET": "1",
            "COLUMNS": "120",
        }

    def started(self, command: str, folder: Path) -> "subprocess.Popen[str]":
        """A command of the shell that goes on."""
        shell = ["bash", "-c", f"exec {command}"]
        return subprocess.Popen(shell, cwd=folder, env=self.variables, stdout=subprocess.PIPE, text=True)

    def tried(self, command: str, folder: Path, patience: float = PLAYING) -> "subprocess.CompletedProcess[str]":
        """A command of the shell, whatever becomes of it."""
        return subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=INSTALLING if command.startswith("pip ") else patience,
        )

    def run(self, command: str, folder: Path, patience: float = PLAYING) -> str:
        """What a command prints; it must succeed."""
        done = self.tried(command, folder, patience)
        assert done.returncode == 0, f"$ {command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def python(self, code: str, folder: Path) -> str:
        """What a script prints."""
        script = folder / "script.py"
        script.write_text(code, encoding="utf-8")
        try:
            return self.run(f"python {script.name}", folder)
        finally:
            script.unlink()


def commands_of(text: str) -> list[str]:
    """The commands of a page in order: indented lines outside of fences, without their comments."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = re.findall(r"^ {4}(?! )(.+)$", prose, re.MULTILINE)
    return [re.sub(r"\s+#.*$", "", line) for line in lines]


def blocks_of(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
