#!/usr/bin/env python3
"""Markdown tables of what the emulator makes of other people's configurations, each distinct file once.

  tools/foreign_table.py coverage FOLDER...              instructions in their core programs, and which are executed
  tools/foreign_table.py flood FOLDER [-- OPTION...]     random data on every input, no stream: do all cores run
  tools/foreign_table.py gemm FOLDER [-- OPTION...]      int8 products with their streams, against exact arithmetic
  tools/foreign_table.py bfp16 FOLDER [-- OPTION...]     bf16 x bfp16 products, by tools/foreign/bfp16_gemm.py

gemm takes the pairs whose bytes make an int8 product with an int32 result, bfp16 those named bf16_* and ternary_*.
The options behind -- go to `tegula emu`. A row stands for one distinct file (for gemm: a distinct pair of
configuration and stream), named by its first path; "same" counts further files with the same bytes; links are
not followed. A stream insts_NAME.txt or .bin belongs to NAME.xclbin or final_NAME.xclbin beside it.
Needs build/release/tegula, or another one by --tegula.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys

FOREIGN = pathlib.Path(__file__).resolve().parent / "foreign"
TEGULA = pathlib.Path(__file__).resolve().parent.parent / "build/release/tegula"


def content(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def regular(folder, pattern):
    return [path for path in sorted(folder.rglob(pattern)) if path.is_file() and not path.is_symlink()]


def distinct(folder):
    """First path of each content -> number of files with it."""
    found = {}
    for path in regular(folder, "*.xclbin"):
        found.setdefault(content(path), []).append(path)
    return {paths[0]: len(paths) for paths in found.values()}


def pairs(folder):
    """Distinct (configuration, stream) -> number of pairs with the same bytes."""
    found = {}
    for stream in [path for path in regular(folder, "insts_*") if path.suffix in (".txt", ".bin")]:
        name = stream.stem.removeprefix("insts_")
        for prefix in ("", "final_"):
            config = stream.with_name(f"{prefix}{name}.xclbin")
            if config.is_file() and not config.is_symlink():
                found.setdefault((content(config), content(stream)), []).append((config, stream))
    return {same[0]: len(same) for same in found.values()}


def run(*command):
    """The JSON that tegula prints, also where it reports a failure; its error text where it prints none."""
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False, text=True)
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr.strip()


def title(path, folder):
    return path.relative_to(folder).with_suffix("")


def table(columns, rows):
    """Columns: (head, numeric)."""
    print("| " + " | ".join(head for head, _ in columns) + " |")
    print("| " + " | ".join("---:" if numeric else "---" for _, numeric in columns) + " |")
    for row in rows:
        print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row) + " |")


def coverage(args):
    columns = [("folder", False), ("files", True), ("distinct", True), ("core programs", True), ("bundles", True),
               ("undecodable", True), ("instructions", True), ("executed", True), ("not executed", False)]
    rows = []
    for folder in args.folders:
        files = distinct(folder)
        out = run(args.tegula, "isa", "--coverage", "--json", *files)["corpus"]
        missing = ", ".join(one["mnemonic"] for one in out["missing"])
        rows.append([folder.name, sum(files.values()), len(files), out["programs"], out["bundles"],
                     out["undecodable"], out["instructions"], out["executed"], missing])
    table(columns, rows)


def flood(args):
    for folder in args.folders:
        files = distinct(folder)
        out = run(args.tegula, "emu", "--flood", "--json", *args.options, *files)
        print(f"{sum(files.values())} files, {len(files)} distinct; {out['ok']} ran "
              f"({out['bundles']:,} bundles of each core, or its whole program).\n")
        columns = [("configuration", False), ("same", True), ("cores that ran", True), ("least bundles", True),
                   ("locks given", True), ("first error", False)]
        table(columns, [[title(path, folder), files[path] - 1, f"{one['enough']} of {len(one['cores'])}",
                         one["least_bundles"], one["kicks"], one["error"]]
                        for one in out["files"] for path in [pathlib.Path(one["file"])]])


def gemm_row(args, config, stream):
    """Shape, cores, outputs, wrong ones, runs, cycles, seconds, error."""
    out = run(args.tegula, "emu", "--json", "--gemm", "auto", "--repeat", args.repeat, *args.options, config,
              "--stream", stream)
    if not isinstance(out, dict):
        return ["", "", "", "", "", "", "", out]
    runs = out["runs"]
    cycles = sorted({one["cycles"] for one in runs})
    return ["x".join(map(str, out["gemm"])), sum(core["bundles"] > 0 for core in runs[0]["cores"]),
            runs[0]["elements"], sum(one["wrong"] for one in runs), len(runs),
            " to ".join(f"{count:,}" for count in {cycles[0]: 0, cycles[-1]: 0}),
            f"{sum(one['wall_seconds'] for one in runs) / len(runs):.2f}",
            "; ".join(one["message"] for one in runs if "message" in one)]


def gemm(args):
    columns = [("configuration and stream", False), ("same", True), ("M x K x N", False), ("cores", True),
               ("outputs", True), ("wrong", True), ("runs", True), ("cycles, modelled", True), ("s of the host", True),
               ("error", False)]
    for folder in args.folders:
        rows = [[title(config, folder), same - 1, *gemm_row(args, config, stream)]
                for (config, stream), same in pairs(folder).items() if not is_float(config)]
        exact = sum(row[5] == 0 and row[-1] == "" for row in rows)
        print(f"{len(rows)} distinct pairs, {exact} exact.\n")
        table(columns, rows)


def is_float(config):
    return config.name.startswith(("bf16_", "ternary_"))


def bfp16_row(args, config, stream):
    command = [sys.executable, FOREIGN / "bfp16_gemm.py", "--json", config, stream, "--", *args.options]
    out = run(*command)
    if not isinstance(out, dict):
        return ["", "", "", "", "", "", "", "", out]
    return ["x".join(map(str, out["shape"])), out["cores"], f"{out['block_rows']}x8", out["values"], out["wrong"],
            f"{out['to_blocks']:.1e}", f"{out['to_values']:.1e}", out["cycles"], out["message"]]


def bfp16(args):
    columns = [("configuration and stream", False), ("same", True), ("M x K x N", False), ("cores", True), ("blocks", False),
               ("outputs", True), ("wrong", True), ("L2 to blocks", True), ("L2 to values", True),
               ("cycles, modelled", True), ("error", False)]
    for folder in args.folders:
        table(columns, [[title(config, folder), same - 1, *bfp16_row(args, config, stream)]
                        for (config, stream), same in pairs(folder).items() if is_float(config)])


COMMANDS = {"coverage": coverage, "flood": flood, "gemm": gemm, "bfp16": bfp16}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tegula", type=pathlib.Path, default=TEGULA)
    parser.add_argument("--repeat", type=int, default=3, help="gemm: runs without a new configuration")
    parser.add_argument("what", choices=COMMANDS)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    args.options = arguments[split + 1:]
    COMMANDS[args.what](args)


if __name__ == "__main__":
    main()
