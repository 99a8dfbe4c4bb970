"""``python deploy/make_venv.py FOLDER``: the project's virtual environment, by uv where that is there, else by pip.

Debian splits pip and ensurepip off from Python. Where both are missing, pip comes out of Debian's package of its wheel,
so that no root is needed. Standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from deploy.debian import UnavailableError, unpack  # noqa: E402 (found through the line above)

PROJECT = ["--editable", f"{ROOT}[dev]"]
_WHEEL_PACKAGE = "python3-pip-whl"


def main(folder: Path) -> None:
    """Make or refresh the environment. Exits with a sentence where that cannot be done."""
    python = folder / "bin" / "python"
    uv = shutil.which("uv")
    if uv:
        _run(uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, folder)
        _run(uv, "pip", "install", "--quiet", "--python", python, *PROJECT)
        return
    _run(sys.executable, "-m", "venv", "--without-pip", folder)
    print("installing with pip (about a minute; a few seconds where uv is installed)", flush=True)
    _run(*pip(), "--python", python, "--disable-pip-version-check", "install", "--quiet", *PROJECT)


def pip() -> list[str | Path]:
    """A command that runs some pip; ``--python`` makes it work on another environment."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    bundled = importlib.util.find_spec("ensurepip")
    wheels = sorted(Path(bundled.origin).parent.glob("_bundled/pip-*.whl")) if bundled and bundled.origin else []
    wheels = wheels or sorted(Path("/usr/share/python-wheels").glob("pip-*.whl")) or _debian_wheels()
    return [sys.executable, wheels[-1] / "pip"]


def _debian_wheels() -> list[Path]:
    root = ROOT / ".cache" / _WHEEL_PACKAGE
    if not root.is_dir():
        unpack([_WHEEL_PACKAGE], root)
    return sorted(root.glob("usr/share/python-wheels/pip-*.whl"))


def _run(*command: str | Path) -> None:
    # A user's site folder or an environment that is active now must not leak into the new one.
    inherited = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    try:
        subprocess.run([str(word) for word in command], check=True, env={**inherited, "PYTHONNOUSERSITE": "1"})
    except subprocess.CalledProcessError as error:
        sys.exit(f"make venv: {Path(str(command[0])).name} failed with status {error.returncode}, see above")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except UnavailableError as error:
        sys.exit(f"make venv: neither uv nor pip is here ({error}); install python3-venv or uv")
