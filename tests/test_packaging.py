"""What is shipped: the lock, the licence, the wheel, and an import that costs nothing."""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import teto

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "teto"
LOCK_TEXT = (ROOT / "requirements.lock").read_text(encoding="utf-8")

# Needed only once there is work to do; each of them costs tens to hundreds of milliseconds to import.
HEAVY_MODULES = frozenset({"aiohttp", "genai_prices", "gguf", "huggingface_hub", "numpy", "uvicorn", "xllamacpp"})
REPORT_MODULES = "import json, sys; print(json.dumps(sorted(sys.modules)))"
RUN_HELP = """
import sys
from teto.cli.main import main
sys.argv = ["teto", "--help"]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""


def locked_entries() -> list[str]:
    """The entries of the lock, each joined into one line: `name==version ; marker --hash=...`."""
    return [line for line in re.sub(r"\s*\\\n\s*", " ", LOCK_TEXT).splitlines() if line]


def locked_versions() -> dict[str, set[str]]:
    """The versions that each package is locked to; more than one where Pythons or platforms differ."""
    versions: dict[str, set[str]] = {}
    for entry in locked_entries():
        name, version = entry.split(" ")[0].split("==")
        versions.setdefault(canonicalize_name(name), set()).add(version)
    return versions


def pyproject() -> dict[str, Any]:
    """The project's own metadata."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def direct_requirements() -> list[str]:
    """Everything that pyproject.toml asks for: to build, to run, and every extra."""
    metadata = pyproject()
    extras = metadata["project"]["optional-dependencies"].values()
    return sorted(
        {
            *metadata["build-system"]["requires"],
            *metadata["project"]["dependencies"],
            *(requirement for extra in extras for requirement in extra),
        }
    )


def python_files(folder: Path) -> list[Path]:
    """Every Python file below the folder."""
    return sorted(folder.rglob("*.py"))


def imported_roots(path: Path) -> set[str]:
    """The first names of all modules that a file imports, wherever in it the import stands."""
    roots: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            roots.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.split(".")[0])
    return roots


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after running the code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{REPORT_MODULES}"],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_every_locked_version_is_pinned_and_hashed() -> None:
    """Each entry of the lock is one exact version with at least one sha256."""
    pinned = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+( ; [^#]+?)?( --hash=sha256:[0-9a-f]{64})+")
    assert [entry for entry in locked_entries() if not pinned.fullmatch(entry)] == []


def test_lock_names_no_place() -> None:
    """The lock holds no URL, index, path or option: it installs from whichever index pip is set to."""
    without_hashes = re.sub(r"--hash=sha256:[0-9a-f]{64}", "", LOCK_TEXT)
    for forbidden in ("://", "/", "@", "--", "#"):
        assert forbidden not in without_hashes.replace(" \\\n", "\n"), forbidden


@pytest.mark.parametrize("text", direct_requirements())
def test_direct_dependency_is_locked(text: str) -> None:
    """Every requirement of pyproject.toml is in the lock, in a version that it allows."""
    requirement = Requirement(text)
    versions = locked_versions().get(canonicalize_name(requirement.name), set())
    assert versions
    assert [version for version in versions if version not in requirement.specifier] == []


def test_version_is_the_same_everywhere() -> None:
    """`teto.__version__` is the version that pyproject.toml gives."""
    assert teto.__version__ == pyproject()["project"]["version"]


def test_licence_is_present() -> None:
    """LICENSE is the Apache License 2.0 that pyproject.toml names, with the appendix filled in."""
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert pyproject()["project"]["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "Copyright 2026 The teto developers" in text
    assert "[yyyy]" not in text


@pytest.mark.parametrize(
    "folder",
    [path for path in sorted(SOURCE.iterdir()) if path.is_dir() and path.name != "__pycache__"],
    ids=lambda path: path.name,
)
def test_folder_says_in_one_sentence_what_it_is(folder: Path) -> None:
    """Each folder directly under src/teto has an `__init__.py` whose docstring is one sentence."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert docstring
    assert re.findall(r"[.!?](?=\s|$)", docstring) == ["."]
    assert docstring.endswith(".")


def test_source_does_not_import_tests() -> None:
    """No file under src imports anything from tests."""
    guilty = [path for path in python_files(ROOT / "src") if imported_roots(path) & {"tests", "conftest"}]
    assert guilty == []


def test_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    """A built wheel has every module, the type marker, the catalog's data and the licence, and no test."""
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(SOURCE, tmp_path / "src" / "teto", ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(tmp_path)], check=True, timeout=100)

    with zipfile.ZipFile(next(tmp_path.glob("teto-*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = {name.split(".dist-info/")[1] for name in wheel.namelist() if ".dist-info/" in name}
    kinds = {".py", ".toml", ".typed", ".json", ".jsonl", ".npz"}
    sources = [path for path in SOURCE.rglob("*") if path.suffix in kinds]
    assert names == {path.relative_to(ROOT / "src").as_posix() for path in sources}
    assert {"licenses/LICENSE", "entry_points.txt"} <= metadata


@pytest.mark.parametrize(
    "code",
    ["import teto", "import teto.cli.main", RUN_HELP],
    ids=["import", "import-cli", "help"],
)
def test_start_imports_nothing_heavy(code: str) -> None:
    """Neither `import teto` nor `teto --help` imports a module that only real work needs."""
    assert modules_after(code) & HEAVY_MODULES == set()
