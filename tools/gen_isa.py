#!/usr/bin/env python3
"""Turns the instruction set tables (src/isa/tables/*.tsv) into C++: isa/enums.h and isa/tables.cc.

Usage: gen_isa.py TABLE_DIR OUT_DIR. Every inconsistency of a table ends the run with file and row name.
The encoding rules are the comment headers of the TSV files.
"""
import os
import re
import sys

# Corrections to the vendor data: (file, row name, column or register, replacement, reason). Applied while reading;
# an entry that matches no row is an error.
CORRECTIONS = []

SLOTS = ["lda", "ldb", "alu", "mv", "st", "vec", "lng", "nop"]
SLOT_ENUM = {"lda": "kLda", "ldb": "kLdb", "alu": "kAlu", "mv": "kMv", "st": "kSt", "vec": "kVec", "lng": "kLng",
             "nop": "kNop"}


class TableError(Exception):
    pass


def fail(file, row, text):
    raise TableError(f"{file}: row {row}: {text}")


def read_tsv(directory, name, columns):
    """Rows of a table as lists of exactly `columns` strings, and its comment lines."""
    rows, comments = [], []
    with open(os.path.join(directory, name), encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("#"):
                comments.append(line)
            elif line.strip():
                cells = line.split("\t")
                if len(cells) != columns:
                    fail(name, cells[0], f"has {len(cells)} columns, expected {columns}")
                rows.append(cells)
    for file, row, column, value, _ in CORRECTIONS:
        if file == name:
            hits = [r for r in rows if r[0] == row]
            if len(hits) != 1:
                fail(name, row, "the list of corrections names this row, but it is not there")
            hits[0][column] = value
    return rows, comments


# ------------------------------------------------------------------ registers


def asm_name(record):
    if re.fullmatch(r"l\d+", record):
        k = int(record[1:])
        return f"r{2 * k + 1}:r{2 * k}"
    if record.endswith("_3d"):
        return record[:-3]
    return record.lower()


def base_storage(record, width):
    """(bank, bit offset, bits) of a register without sub-registers, or None."""
    m = re.fullmatch(r"(r|p|m|dn|dj|dc|s)(\d+)", record)
    if m:
        bank = {"r": "kR", "p": "kP", "m": "kM", "dn": "kDn", "dj": "kDj", "dc": "kDc", "s": "kS"}[m[1]]
        return bank, 32 * int(m[2]), width
    m = re.fullmatch(r"(wl|wh|el|eh|ql|qh)(\d+)", record)
    if m:
        bank, bits = {"w": ("kX", 256), "e": ("kE", 32), "q": ("kQ", 64)}[m[1][0]]
        return bank, bits * (2 * int(m[2]) + (m[1][1] == "h")), bits
    m = re.fullmatch(r"bm(ll|lh|hl|hh)(\d)", record)
    if m:
        return "kAcc", 2048 * int(m[2]) + 512 * ["ll", "lh", "hl", "hh"].index(m[1]), 512
    fifo = ["lfl0", "lfh0", "lfl1", "lfh1", "sfl", "sfh", "lfe"]
    if record in fifo:
        return "kFifo", 512 * fifo.index(record), 512
    special = ["sp", "lr", "ls", "le", "lc", "CORE_ID", "pe2_ads", "", "tile_cntr"]
    if record in special:
        return "kSpecial", 32 * special.index(record), width
    return None


BANK_BITS = {"kR": 1024, "kP": 256, "kM": 256, "kDn": 256, "kDj": 256, "kDc": 256, "kS": 128, "kX": 6144, "kE": 768,
             "kQ": 512, "kAcc": 10240, "kFifo": 3584, "kSpecial": 320}


class Registers:
    """regfile.tsv: order, width and storage of every register."""

    def __init__(self, directory):
        rows, _ = read_tsv(directory, "regfile.tsv", 4)
        self.names, self.bits, self.parts = [], {}, {}
        control = 0
        for name, width, subs, _ in rows:
            if name in self.bits:
                fail("regfile.tsv", name, "listed twice")
            bits = 32 if width == "-" else int(width)  # pe2_ads: no width in the source
            self.names.append(name)
            self.bits[name] = bits
            if subs == ".":
                part = base_storage(name, bits)
                if part is None:
                    if not re.match(r"(cr|sr|srs|ups|pack|unpack|vadd)[A-Z0-9]", name):
                        fail("regfile.tsv", name, "no storage is known for this register")
                    part = ("kControl", 32 * control, bits)
                    control += 1
                self.parts[name] = [part]
            else:
                self.parts[name] = self.join(name, subs, bits)
        BANK_BITS["kControl"] = 32 * control

    def join(self, name, subs, bits):
        parts, at = [], 0
        for sub in subs.split():
            m = re.fullmatch(r"(\w+)@(\d+):(\d+)", sub)
            if not m or m[1] not in self.bits:
                fail("regfile.tsv", name, f"bad sub-register '{sub}'")
            if int(m[2]) != at or int(m[3]) != self.bits[m[1]]:
                fail("regfile.tsv", name, f"sub-register '{sub}' is not at bit {at} with its own width")
            at += int(m[3])
            for bank, bit, n in self.parts[m[1]]:
                if parts and parts[-1][0] == bank and parts[-1][1] + parts[-1][2] == bit:
                    parts[-1] = (bank, parts[-1][1], parts[-1][2] + n)
                else:
                    parts.append((bank, bit, n))
        if at != bits:
            fail("regfile.tsv", name, f"sub-registers cover {at} bits, width is {bits}")
        return parts


def read_names(directory):
    """Record names of the instructions; the artificial nop of the 16-bit bundle comes from slots.tsv."""
    rows, _ = read_tsv(directory, "instructions.tsv", 9)
    names = [r[0] for r in rows]
    slots, _ = read_tsv(directory, "slots.tsv", 7)
    names += [r[4] for r in slots if r[4] not in names]
    return names


def write_enums(out, ops, registers):
    with open(out, "w", encoding="utf-8") as f:
        f.write("// Generated by tools/gen_isa.py from src/isa/tables/*.tsv.\n#pragma once\n\n")
        f.write('#include "base/types.h"\n\nnamespace tegula::isa {\n\n')
        f.write("enum class Op : u16 {\n" + "".join(f"  {n},\n" for n in ops) + "  kCount\n};\n\n")
        f.write("enum class Reg : u16 {\n  kNone = 0,\n" + "".join(f"  {n},\n" for n in registers))
        f.write("  kCount\n};\n\n}  // namespace tegula::isa\n")


def main():
    directory, out = sys.argv[1], sys.argv[2]
    os.makedirs(out, exist_ok=True)
    try:
        registers = Registers(directory)
        write_enums(os.path.join(out, "enums.h"), read_names(directory), registers.names)
    except TableError as error:
        sys.exit(f"gen_isa.py: {error}")


if __name__ == "__main__":
    main()
