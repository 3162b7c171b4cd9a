#!/usr/bin/env python3
"""The published figures: measures them into benchmarks/latest.json and keeps the README's table to them.

  tools/figures.py record   runs the commands below on a release build and writes benchmarks/latest.json
  tools/figures.py render   writes the table into README.md, between its two marks
  tools/figures.py check    fails when the README shows another figure than the record, or one without a label

A record: id, what, value, unit, label, command, and for runs of a model the hash of the array configuration. Labels: `measured` (wall time or
memory on the host that `run` names; of the emulator, never of silicon), `modelled` (the emulator's cost model at 1.8 GHz), `parity` (distance from
the reference implementation), `published` (with its source), `unverified` (with its reason; never rendered).
"""
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORD = ROOT / "benchmarks/latest.json"
README = ROOT / "README.md"
BEGIN, END = "<!-- figures: written by tools/figures.py -->", "<!-- end of figures -->"
LABELS = {"measured", "modelled", "parity", "published"}
BUILD = "build/release"
PROMPT = ("Write down, in plain words and one short sentence for each, what a processor, a compiler, an operating system and a network "
          "card do, and then say which of the four you would explain first to a child.")


def run(command):
    print("+ " + command, file=sys.stderr, flush=True)
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


class Records:
    def __init__(self):
        self.rows = []

    def add(self, id, what, value, unit, label, command, **more):
        self.rows.append({"id": id, "what": what, "value": float(f"{value:.4g}"), "unit": unit, "label": label, "command": command, **more})


def core_rates(out):
    command = f"{BUILD}/bench_core --benchmark_format=json --benchmark_min_time=1"
    rates = {row["name"]: row for row in json.loads(run(command))["benchmarks"]}
    for name in ("Int8", "Bfp16"):
        bare, core = rates["Datapath" + name]["matrix_ops/s"], rates["Core" + name]["matrix_ops/s"]
        low = name.lower()
        out.add(f"core_{low}", f"emulated core, {low} 8x8x8 products, one host thread", core / 1e6, "M/s", "measured", command)
        out.add(f"core_{low}_share", f"the same, of the bare AVX2 loop", 100 * core / bare, "%", "measured", command)
    out.add("core_scalar", "emulated core, code without matrix products, one host thread", rates["CoreScalar"]["bundles/s"] / 1e6,
            "M bundles/s", "measured", command)


def products(out):
    for shape in ("512x512x512", "2048x2048x2048", "1x576x576", "64x576x3072", "32x384x384"):
        command = f"{BUILD}/tegula bench {shape} --number all --json"
        for row in json.loads(run(command))["products"]:
            kind = row["format"]
            out.add(f"product_{kind}_{shape}", f"product {shape}, {kind}: bound by the {row['bound_by']} over modelled time",
                    100 * row["of_bound"], "%", "modelled", command, modelled_us=row["modelled_us"])


def models(out):
    for precision in ("high", "fast"):
        command = f"{BUILD}/tegula run smollm2:135m -p '{PROMPT}' -n 24 --greedy --precision {precision} --json"
        report = json.loads(run(command))["report"]
        device = report["device"]
        tokens, prompt = report["tokens"], report["prompt_tokens"]
        decode = report["seconds"] - report["prefill_seconds"]
        more = {"configuration": device["configuration"]}
        name = f"SmolLM2-135M, `{precision}`"
        out.add(f"smollm2_{precision}_decode", f"{name}: decode on the emulator, {os.cpu_count()} host threads", (tokens - 1) / decode,
                "tokens/s", "measured", command, **more)
        out.add(f"smollm2_{precision}_prompt", f"{name}: prompt of {prompt} tokens on the emulator", report["prefill_seconds"], "s",
                "measured", command, **more)
        out.add(f"smollm2_{precision}_modelled", f"{name}: the array's part of prompt and {tokens} tokens", device["modelled_seconds"], "s",
                "modelled", command, **more)
        out.add(f"smollm2_{precision}_build", f"{name}: program built", device["compile_seconds"], "s", "measured", command, **more)
        out.add(f"smollm2_{precision}_layout", f"{name}: weights laid out", device["layout_seconds"], "s", "measured", command, **more)
    command = f"{BUILD}/tegula embed all-minilm-l6-v2 'The array computes what the bytes say.' --json"
    report = json.loads(run(command))["report"]
    out.add("minilm_sentence", "MiniLM, `high`: one sentence on the emulator", report["seconds"], "s", "measured", command,
            configuration=report["device"]["configuration"])


def parity(out):
    command = f"{BUILD}/test_models --gtest_filter='ParityNpu*'"
    for name, error in re.findall(r"^(\w+): relative L2 (\S+)$", run("TEGULA_REQUIRE_MODELS=1 " + command), re.M):
        out.add(f"parity_smollm2_{name}", f"SmolLM2-135M, `high`: logits of prompt \"{name}\", relative L2 to the reference in fp32", float(error),
                "", "parity", command)


def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{os.cpu_count()} cores, {model.group(1) if model else platform.processor()}"


def record():
    dirty = run("git status --porcelain -- src bench tests").strip()
    if dirty:
        sys.exit("figures: commit first, a record names the commit it was measured on:\n" + dirty)
    out = Records()
    for part in (core_rates, products, models, parity):
        part(out)
    head = {"schema": 1, "run": {"commit": run("git rev-parse HEAD").strip(), "machine": machine(), "date": run("date -u +%F").strip()}}
    RECORD.parent.mkdir(exist_ok=True)
    lines = ",\n".join("  " + json.dumps(row) for row in out.rows)
    RECORD.write_text(json.dumps(head)[:-1] + ', "figures": [\n' + lines + "\n]}\n")


def table():
    data = json.loads(RECORD.read_text())
    bad = [row["id"] for row in data["figures"] if row["label"] not in LABELS | {"unverified"}]
    if bad:
        sys.exit(f"figures: {RECORD.name}: no such label: {', '.join(bad)}")
    where = data["run"]
    lines = [f"Measured on {where['machine']}; `tools/figures.py record` measures anew, [benchmarks/latest.json](benchmarks/latest.json) has the "
             "commands.", "", "| what | value | label |", "| --- | --- | --- |"]
    lines += [f"| {row['what']} | {row['value']:g} {row['unit']} | {row['label']} |".replace("  |", " |") for row in data["figures"]
              if row["label"] in LABELS]
    return "\n".join(lines)


def split_readme():
    text = README.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"figures: README.md: expected one '{BEGIN}' and one '{END}'")
    head, rest = text.split(BEGIN)
    return head, *rest.split(END)


def render():
    head, _, tail = split_readme()
    README.write_text(head + BEGIN + "\n" + table() + "\n" + END + tail)


def check():
    _, shown, _ = split_readme()
    wanted, found = table().splitlines(), shown.strip().splitlines()
    wrong = [line for line in found if line not in wanted] + [line for line in wanted if line not in found]
    if wrong:
        sys.exit("figures: README.md differs from benchmarks/latest.json, run tools/figures.py render:\n" + "\n".join(wrong))


if __name__ == "__main__":
    commands = {"record": record, "render": render, "check": check}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]]()
