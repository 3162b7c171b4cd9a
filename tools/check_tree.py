#!/usr/bin/env python3
"""Checks of the source tree: folder edges, file and function length, no printing or exiting in library folders.

Rules and the exceptions with their reasons stand here; the folder table is tools/layers.tsv.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60

# path -> why it may break the length rules
LONG_FILES = {}
LONG_FUNCTIONS = {
    "src/arch/dma.cc": "one line per field of the buffer descriptors",
}

# Folders that may print and exit; all others are libraries.
PROGRAM_FOLDERS = {"cli"}
# `device` includes the emulated driver in this one file only.
ONLY_FILE = {("device", "driver"): {"src/device/node_emu.cc"}}
FORBIDDEN = re.compile(r"(?<![\w:.>])(?:std::)?(?:printf|puts|abort|exit|_exit|terminate)\s*\(|std::c(?:out|err)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([a-z0-9_]+)/')


def read_layers():
    layers = {}
    for line in (ROOT / "tools/layers.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            folder, _, deps = line.partition("\t")
            layers[folder.strip()] = set(deps.split())
    return layers


def tracked():
    out = subprocess.run(["git", "ls-files", "src", "tests", "bench", "fuzz"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in out.stdout.split() if name.endswith((".cc", ".h")) and (ROOT / name).exists()]


def strip(text):
    """Removes comments and string contents, keeping line structure."""
    keep_lines = lambda m: "\n" * m.group(0).count("\n")
    text = re.sub(r'R"(\w*)\((?:.|\n)*?\)\1"', keep_lines, text)
    text = re.sub(r"/\*(?:.|\n)*?\*/", keep_lines, text)
    text = re.sub(r"'(?:\\.|[^'\\\n])'", "' '", text)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*", "", text)


def functions(text):
    """Yields (first line, lines) of every brace block that looks like a function body at namespace or class depth."""
    opener = re.compile(r"^(?!\s*(?:namespace|class|struct|enum|union|extern)\b)[^;={}#]*\)[^;={}]*\{\s*$")
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        head = lines[i]
        if opener.match(head) and not re.match(r"^\s*(?:if|for|while|switch|else|do|catch)\b", head):
            depth, j = 0, i
            while j < len(lines):
                depth += lines[j].count("{") - lines[j].count("}")
                if depth <= 0:
                    break
                j += 1
            yield i + 1, j - i + 1
            i = j
        i += 1


def check_file(path, layers, errors):
    name = path.relative_to(ROOT).as_posix()
    raw = path.read_text()
    code = strip(raw)
    count = raw.count("\n")
    if count > MAX_FILE_LINES and name not in LONG_FILES:
        errors.append(f"{name}: {count} lines, at most {MAX_FILE_LINES}")
    parts = name.split("/")
    for start, length in functions(code):
        if parts[0] == "src" and length > MAX_FUNCTION_LINES and (name, start) not in LONG_FUNCTIONS and name not in LONG_FUNCTIONS:
            errors.append(f"{name}:{start}: function of {length} lines, at most {MAX_FUNCTION_LINES}")
    if parts[0] != "src":
        return
    folder = parts[1]
    if folder not in layers:
        errors.append(f"{name}: folder {folder} is not in tools/layers.tsv")
        return
    for number, line in enumerate(raw.splitlines(), 1):
        match = INCLUDE.match(line)
        if match and match.group(1) in layers:
            target = match.group(1)
            if target != folder and target not in layers[folder]:
                errors.append(f"{name}:{number}: {folder} may not include {target} (tools/layers.tsv)")
            allowed = ONLY_FILE.get((folder, target))
            if allowed is not None and name not in allowed:
                errors.append(f"{name}:{number}: only {', '.join(sorted(allowed))} may include {target}")
    if folder not in PROGRAM_FOLDERS:
        for number, line in enumerate(code.splitlines(), 1):
            if FORBIDDEN.search(line):
                errors.append(f"{name}:{number}: library folders never print, exit or abort: {line.strip()[:80]}")


def main():
    layers = read_layers()
    errors = []
    files = tracked()
    if not files:
        sys.exit("check_tree: no source files found")
    for path in files:
        check_file(path, layers, errors)
    for error in errors:
        print(error)
    print(f"check_tree: {len(files)} files, {len(errors)} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
