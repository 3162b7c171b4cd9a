#!/usr/bin/env python3
"""Turns the instruction set tables (src/isa/tables/*.tsv) into C++: isa/enums.h and isa/tables.cc.

Usage: gen_isa.py TABLE_DIR OUT_DIR. Every inconsistency of a table ends the run with file and row name.
The encoding rules are the comment headers of the TSV files.
"""
import os
import re
import sys

# Corrections to the vendor data: (file, row, column, replacement, reason). One without a row is an error.
CORRECTIONS = []

SLOTS = ["lda", "ldb", "alu", "mv", "st", "vec", "lng", "nop"]
SLOT_ENUM = {s: "Slot::k" + s.capitalize() for s in SLOTS}
SLOT_ORDER = ["lda", "ldb", "alu", "mv", "lng", "st", "vec", "nop"]  # order inside a bundle
MAX_OPERANDS = 10
BANKS = "kR kP kM kDn kDj kDc kS kX kE kQ kAcc kFifo kSpecial kControl".split()

# Units in the order of the vendor's file (AIE2PGenSchedule.td); a unit not listed here is an error.
UNITS = """
EMPTY_FU PART_WORD_STORE AGUA__AGI_I AGUA__AGU_C1 AGUA__AGU_M_CG20S AGUA__AG_P AGUA__DM_AD_DEAD AGU_RM_PORT
BM_WM_1 CNVOSTAT1 COL CRPACKSIGN_WM_PORT CRRND_RS CRSAT_RA CRSRSSIGN_WM_PORT CRUNPACKSIGN_WM_PORT
CRUPSMODE_RA CRUPSSIGN_WM_PORT CRVADDSIGN_WM_PORT DC_WM_PORT DJ_WM_PORT DMS_WM DMW_WRS DMX_STS_FIFO DMX_WRS
DM_ADA DM_ADS DM_RM_PORT DM_WM_PORT DN_WM_PORT DONE_FU EVENT_UPS_OF FIFO_HL_RA_PORT FIFO_HL_WA_PORT
FIFO_STS__ADVANCE_FIFO_R LCKREQ LXC L_RM_PORT L_WM_PORT M_RA_PORT M_WM_PORT P_WM_PORT QEY_RS_PORT
QEY_WA_PORT QEY_WB_PORT RSRC_EXECUTION_TRACE R_RS_PORT R_WA_PORT SCD SCD_CTL SCD_EXPAND__EN SCD_INCR__O_POS
TM_AD UPS__H__A UPS__H__K UPS__H__OMUXL UPS__K UPS__L__KL UPS__L__OMUXL UPS__OMUX
""".split()


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


BANK_BITS = {
    "kR": 1024, "kP": 256, "kM": 256, "kDn": 256, "kDj": 256, "kDc": 256, "kS": 128, "kX": 6144, "kE":
    768, "kQ": 512, "kAcc": 10240, "kFifo": 3584, "kSpecial": 320
}


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



# ----------------------------------------------------------- operand classes


class RegisterClasses:
    """registers.tsv: classes with their codes; aliases resolve to the class that they repeat."""

    def __init__(self, directory, registers):
        rows, comments = read_tsv(directory, "registers.tsv", 3)
        self.index, self.classes, self.alias = {}, [], {}
        for line in comments:
            if line.startswith("# aliases"):
                self.alias = dict(pair.split("=") for pair in line.split(": ", 1)[1].split())
        for name, width, pairs in rows:
            codes = {}
            for pair in pairs.split():
                reg, code = pair.split("=")
                if reg not in registers.bits:
                    fail("registers.tsv", name, f"register '{reg}' is not in regfile.tsv")
                if len(code) != int(width):
                    fail("registers.tsv", name, f"code of '{reg}' has {len(code)} bits, not {width}")
                value = int(code, 2) if code else 0
                if value in codes.values() or reg in codes:
                    fail("registers.tsv", name, f"'{pair}' repeats a register or a code")
                codes[reg] = value
            if name in self.index:
                fail("registers.tsv", name, "listed twice")
            self.index[name] = len(self.classes)
            self.classes.append((name, int(width), codes))

    def find(self, name):
        """Index of a class given by name, by its operand name OP_x or by an alias; None when unknown."""
        for candidate in (name, "OP_" + name, name[3:] if name.startswith("OP_") else name):
            if candidate in self.index:
                return self.index[candidate]
            if candidate in self.alias:
                return self.find(self.alias[candidate])
        return None


class ImmediateClasses:
    def __init__(self, directory):
        rows, _ = read_tsv(directory, "immediates.tsv", 8)
        self.index, self.classes = {}, []
        for name, bits, kind, step, offset, low, high, _ in rows:
            bits, step, offset, low, high = int(bits), int(step), int(offset), int(low), int(high)
            signed = kind == "signed"
            least = -(1 << bits - 1) if signed else 0
            if name != "c7s_negated":  # a selection predicate, never encoded
                if kind not in ("signed", "unsigned", "negative"):
                    fail("immediates.tsv", name, f"unknown kind '{kind}'")
                if (least * step + offset, (least + (1 << bits) - 1) * step + offset) != (low, high):
                    fail("immediates.tsv", name, "range does not follow from bits, step and offset")
            self.index[name] = len(self.classes)
            self.classes.append((name, bits, step, offset, low, high, signed))


# -------------------------------------------------------------- instructions


class Operand:
    def __init__(self, name, is_out):
        self.name, self.is_out = name, is_out
        self.is_reg, self.cls, self.bits = True, 0, 0
        self.pieces, self.tied = None, -1


class Instruction:
    def __init__(self, row, tables):
        self.name, self.slot, encoding, self.mnemonic, self.syntax, outs, ins, attributes = row[:8]
        self.itinerary = row[8]
        if self.slot not in SLOTS:
            fail("instructions.tsv", self.name, f"unknown slot '{self.slot}'")
        self.flags, self.ties, self.defs, self.uses = set(), {}, [], []
        self.read_attributes(attributes, tables)
        self.operands = self.read_operands(outs, True, tables) + self.read_operands(ins, False, tables)
        if len(self.operands) > MAX_OPERANDS:
            fail("instructions.tsv", self.name, f"{len(self.operands)} operands, at most {MAX_OPERANDS} fit")
        self.outs = sum(o.is_out for o in self.operands)
        self.mask, self.value, fields = self.read_encoding(encoding, tables.slot_bits[self.slot])
        self.bind(fields)
        self.items = self.read_syntax()

    def read_attributes(self, text, tables):
        for attribute in text.split(";"):
            key, _, value = attribute.partition("=")
            if key in ("load", "store", "side", "delay"):
                self.flags.add(key)
            elif key == "tie":
                out, _, source = value.partition("=")
                self.ties[out] = source
            elif key in ("defs", "uses"):
                regs = value.split("+")
                for reg in regs:
                    if reg not in tables.registers.bits:
                        fail("instructions.tsv", self.name, f"{key}: unknown register '{reg}'")
                setattr(self, key, regs)
            elif key not in (".", "decoder", "hasCompleteDecoder", "super", "isSlotNOP", "isMoveImm",
                             "isReMaterializable", "isAsCheapAsAMove"):
                fail("instructions.tsv", self.name, f"unknown attribute '{key}'")

    def read_operands(self, text, is_out, tables):
        operands = []
        for item in [] if text == "." else text.split(","):
            cls, _, name = item.partition(":")
            operand = Operand(name, is_out)
            if cls in tables.immediates.index:
                operand.is_reg, operand.cls = False, tables.immediates.index[cls]
                operand.bits = tables.immediates.classes[operand.cls][1]
            else:
                found = tables.classes.find(cls)
                if found is None:
                    fail("instructions.tsv", self.name, f"operand '{name}' has the unknown class '{cls}'")
                operand.cls, operand.bits = found, tables.classes.classes[found][1]
            operand.class_name = cls
            operands.append(operand)
        return operands

    def read_encoding(self, text, width):
        mask = value = 0
        at, fields = width, {}
        for item in text.split():
            field = re.fullmatch(r"([A-Za-z_]\w*)(?::(\d+)|\[(\d+):(\d+)\])", item)
            if field:
                high, low = (int(field[3]), int(field[4])) if field[3] else (int(field[2]) - 1, 0)
                bits = high - low + 1
                at -= bits
                fields.setdefault(field[1], []).append((at, bits, low))
            elif re.fullmatch(r"[01]+", item):
                at -= len(item)
                mask |= (1 << len(item)) - 1 << at
                value |= int(item, 2) << at
            elif re.fullmatch(r"-+", item):
                at -= len(item)
            else:
                fail("instructions.tsv", self.name, f"cannot read '{item}' of the encoding")
        if at != 0:
            fail("instructions.tsv", self.name, f"encoding has {width - at} bits, slot {self.slot} {width}")
        return mask, value, fields

    def index(self, name):
        hits = [i for i, o in enumerate(self.operands) if o.name == name]
        if len(hits) != 1:
            fail("instructions.tsv", self.name, f"operand '{name}' is named {len(hits)} times")
        return hits[0]

    def bind(self, fields):
        """Gives every operand its bits: a field, the field of another operand, or none (implied register)."""
        for name, pieces in fields.items():
            operand = self.operands[self.index(name)]
            operand.pieces = pieces
            bits = sum(p[1] for p in pieces)
            if bits != operand.bits:
                fail("instructions.tsv", self.name, f"field '{name}': {bits} bits, class: {operand.bits}")
        for out, source in self.ties.items():
            a, b = self.index(out), self.index(source)
            if self.operands[a].pieces is None:
                self.operands[a].tied = b
            elif self.operands[b].pieces is None:
                self.operands[b].tied = a
            else:
                fail("instructions.tsv", self.name, f"tied operands '{out}' and '{source}' both have fields")
        # Operands that follow another one by the rules of registers.tsv.
        follows = dict.fromkeys(("eDC", "eDCL", "eDCH"), "mod")
        follows.update(dict.fromkeys(("eLdFifoReg", "eRF2", "ePSRFLdF"), "ptr"))
        for operand in self.operands:
            if operand.pieces is None and operand.bits > 0 and operand.tied < 0:
                if operand.class_name not in follows:
                    fail("instructions.tsv", self.name, f"'{operand.name}' has no field and no partner")
                operand.tied = self.index(follows[operand.class_name])
        for operand in self.operands:
            operand.code = self.pieces_of(operand)

    def pieces_of(self, operand, depth=0):
        if operand.pieces is not None:
            return operand.pieces
        if operand.tied < 0:
            return []
        partner = self.operands[operand.tied]
        if partner.bits != operand.bits or depth > 2:
            fail("instructions.tsv", self.name, f"'{operand.name}' does not fit '{partner.name}'")
        return self.pieces_of(partner, depth + 1)

    def read_syntax(self):
        """The operand syntax as (operand index or -1, text); commas are followed by one space."""
        items = []
        for part in re.split(r"(\$\{\w+\}|\$\w+)", re.sub(r",\s*", ", ", self.syntax)):
            if part.startswith("$"):
                items.append((self.index(part.strip("${}")), ""))
            elif part:
                items.append((-1, part))
        return items


def read_instructions(directory, tables):
    rows, _ = read_tsv(directory, "instructions.tsv", 9)
    slots, _ = read_tsv(directory, "slots.tsv", 7)
    tables.slot_bits = {r[0]: int(r[1]) for r in slots}
    if sorted(tables.slot_bits) != sorted(SLOTS):
        fail("slots.tsv", "-", f"the slots are {sorted(tables.slot_bits)}, expected {sorted(SLOTS)}")
    by_name = {r[0]: r for r in rows}
    if len(by_name) != len(rows):
        fail("instructions.tsv", "-", "a record name occurs twice")
    tables.slot_nop = {}
    for slot, _, pattern, value, record, mnemonic, _ in slots:
        tables.slot_nop[slot] = (record, int(value, 16))
        if record not in by_name:  # the nop of the 16-bit bundle is listed in slots.tsv only
            rows.append([record, slot, pattern, mnemonic, "", ".", ".", ".", record])
    instructions = [Instruction(row, tables) for row in rows]
    for i in instructions:
        if (i.name, i.value) != tables.slot_nop[i.slot] and i.name == tables.slot_nop[i.slot][0]:
            fail("slots.tsv", i.slot, "nop value differs from the encoding of its record")
    return instructions


# ------------------------------------------------------------------- formats


def read_formats(directory, slot_bits):
    rows, _ = read_tsv(directory, "formats.tsv", 3)
    formats = []
    for name, bits, pattern in rows:
        at, mask, value, slots = int(bits), 0, 0, {}
        for item in pattern.split():
            m = re.fullmatch(r"(\w+):(\d+)", item)
            if m:
                if slot_bits.get(m[1]) != int(m[2]):
                    fail("formats.tsv", name, f"'{item}' is no slot of that width")
                at -= int(m[2])
                slots[m[1]] = at
            elif re.fullmatch(r"[01]+", item):
                at -= len(item)
                mask |= (1 << len(item)) - 1 << at
                value |= int(item, 2) << at
            elif re.fullmatch(r"-+", item):
                at -= len(item)
            else:
                fail("formats.tsv", name, f"cannot read '{item}'")
        if at != 0:
            fail("formats.tsv", name, f"pattern has {int(bits) - at} bits, expected {bits}")
        for other in formats:
            if other[1] == int(bits) and (other[2] & mask) & (other[3] ^ value) == 0:
                fail("formats.tsv", name, f"overlaps with {other[0]}")
        formats.append((name, int(bits), mask, value, slots))
    return formats


# ------------------------------------------------------------------ overlaps


def legal_codes(instruction, tables):
    """(shift, bits, legal codes) of the register fields that have illegal codes."""
    out = []
    for o in instruction.operands:
        if o.is_reg and o.pieces is not None:
            codes = set(tables.classes.classes[o.cls][2].values())
            if len(codes) < 1 << o.bits:
                out.append((o.pieces[0][0], o.bits, codes))
    return out


def disjoint_by_codes(a, b, tables):
    """True when every word of both patterns has an illegal register code in one of the two instructions."""
    for x, y in ((a, b), (b, a)):
        for shift, bits, codes in legal_codes(x, tables):
            field = (1 << bits) - 1 << shift
            if not any((code << shift ^ y.value) & y.mask & field == 0 for code in codes):
                return True
    return False


def check_overlaps(instructions, tables):
    """Two rows may share words only when one refines the other or register codes keep them apart."""
    by_slot = {}
    for i in instructions:
        for other in by_slot.setdefault(i.slot, []):
            both = i.mask & other.mask
            if (i.value ^ other.value) & both == 0 and both != i.mask and both != other.mask:
                if not disjoint_by_codes(i, other, tables):
                    fail("instructions.tsv", i.name, f"overlaps with {other.name}, and neither refines it")
            if (i.mask, i.value) == (other.mask, other.value):
                fail("instructions.tsv", i.name, f"has the encoding of {other.name}")
        by_slot[i.slot].append(i)


class DecodeTree:
    """Decision trees over slot words: split on the run of up to six bits that leaves the shortest lists."""

    def __init__(self):
        self.nodes, self.children, self.leaves = [], [], []
        self.known_groups = {}  # names of the candidates -> node: equal lists share a subtree

    def add(self, candidates, width, known=0):
        key = tuple(i.name for i in candidates)
        if key not in self.known_groups:
            self.known_groups[key] = self.build(candidates, width, known)
        return self.known_groups[key]

    def build(self, candidates, width, known):
        index = len(self.nodes)
        self.nodes.append(None)
        best = self.best_split(candidates, width, known) if len(candidates) > 2 else None
        if best is None:
            ordered = sorted(candidates, key=lambda i: -bin(i.mask).count("1"))
            self.nodes[index] = (0, 0, len(ordered), len(self.leaves))
            self.leaves += [i.name for i in ordered]
            return index
        shift, bits = best
        at = len(self.children)
        self.children += [0] * (1 << bits)
        self.nodes[index] = (shift, bits, 0, at)
        for code in range(1 << bits):
            group = self.matching(candidates, shift, bits, code)
            self.children[at + code] = self.add(group, width, known | (1 << bits) - 1 << shift)
        return index

    @staticmethod
    def matching(candidates, shift, bits, code):
        field = (1 << bits) - 1 << shift
        return [i for i in candidates if (i.value ^ code << shift) & i.mask & field == 0]

    def best_split(self, candidates, width, known):
        best, best_cost = None, len(candidates) * 0.9
        for bits in range(1, 7):
            for shift in range(0, width - bits + 1):
                if known >> shift & (1 << bits) - 1:
                    continue
                sizes = [len(self.matching(candidates, shift, bits, c)) for c in range(1 << bits)]
                cost = sum(s * s for s in sizes) / max(1, sum(sizes)) + bits * 0.1
                if cost < best_cost:
                    best, best_cost = (shift, bits), cost
        return best


# ------------------------------------------------------------------ schedule


def parse_stages(itinerary, text):
    """Unit uses as (unit, start cycle, cycles, weak)."""
    uses, t = [], 0
    for stage in [] if text == "." else text.split():
        kind, _, rest = stage.partition(":")
        if kind == "AvoidPartWordStore":
            uses.append(("PART_WORD_STORE", t, 1, True))
        elif kind == "IsPartWordStore":
            uses.append(("PART_WORD_STORE", t, 7, False))
        elif kind == "E":
            t += int(rest)
        elif kind in ("P", "S"):
            uses.append((rest, t, 1, False))
            t += kind == "S"
        elif kind == "InstrStage":
            cycles, _, unit = rest.partition("+")
            uses.append((unit.strip("[]"), t, int(cycles), False))
            t += int(cycles)
        else:
            fail("schedule.tsv", itinerary, f"unknown stage '{stage}'")
    for unit, *_ in uses:
        if unit not in UNITS:
            fail("schedule.tsv", itinerary, f"unknown unit '{unit}'")
    return tuple((UNITS.index(u), start, cycles, weak) for u, start, cycles, weak in uses)


class Timings:
    """schedule.tsv: timings of the itineraries, equal ones merged, and the choice among variants."""

    BYPASS = {"": "kNone", "MV_Bypass": "kMv", "VEC_Bypass": "kVec"}

    def __init__(self, directory, instructions, tables):
        rows, _ = read_tsv(directory, "schedule.tsv", 4)
        self.rows = {r[0]: r for r in rows}
        self.tables = tables
        self.unique, self.groups, self.group_of = {}, {}, {}
        self.select, self.variants = [], []
        used = {i.itinerary for i in instructions}
        suffixes = {}
        for name in self.rows:
            if name not in used:
                bases = [u for u in used if name.startswith(u + "_")]
                if not bases:
                    fail("schedule.tsv", name, "belongs to no instruction")
                base = max(bases, key=len)
                suffixes.setdefault(base, []).append(name[len(base) + 1:].split("_"))
        for base in suffixes:
            for tokens in suffixes[base]:
                for token in tokens:
                    self.group(token)
        for i in instructions:
            self.add(i, suffixes.get(i.itinerary, []))

    def members(self, token):
        found = self.tables.classes.find(token)
        if found is not None:
            return frozenset(self.tables.classes.classes[found][2])
        m = re.fullmatch(r"m(CR|SR)(\w+)", token)  # a class of one register: mCRSat, mSRSS0
        if m and m[1].lower() + m[2] in self.tables.registers.bits:
            return frozenset([m[1].lower() + m[2]])
        if token in ("mLRa", "mLRs"):
            return frozenset(["lr"])
        return fail("schedule.tsv", token, "unknown register class in an itinerary name")

    def group(self, token):
        members = self.members(token)
        if members not in self.groups:
            for reg in members:
                if reg in self.group_of:
                    fail("schedule.tsv", token, f"register '{reg}' is in two classes of itinerary names")
                self.group_of[reg] = len(self.groups) + 1
            self.groups[members] = len(self.groups) + 1
        return self.groups[members]

    def timing(self, itinerary, i):
        """Index of the merged timing of an itinerary for the operands of instruction i."""
        if itinerary not in self.rows:
            if i.slot == "nop":
                return self.intern((), (), (), (0, 0), ())
            fail("instructions.tsv", i.name, f"itinerary '{itinerary}' is not in schedule.tsv")
        _, stages, operands, memory = self.rows[itinerary]
        names, cycles = [], []
        for item in [] if operands == "." else operands.split():
            m = re.fullmatch(r"(\w+)/(\d+)(?::(\w+))?", item)
            if not m or (m[3] or "") not in self.BYPASS:
                fail("schedule.tsv", itinerary, f"cannot read '{item}'")
            names.append(m[1])
            cycles.append((int(m[2]), self.BYPASS[m[3] or ""]))
        if names != [o.name for o in i.operands] + i.defs + i.uses:
            fail("schedule.tsv", itinerary, f"operands differ from those of instruction {i.name}")
        n, d = len(i.operands), len(i.defs)
        m = re.fullmatch(r"\.|MemoryCycles<\[(\d+)(?:,(\d+))?\]>", memory)
        if not m:
            fail("schedule.tsv", itinerary, f"cannot read '{memory}'")
        first = int(m[1] or 0)
        return self.intern(tuple(cycles[:n]), tuple(zip(i.defs, cycles[n:n + d])),
                           tuple(zip(i.uses, cycles[n + d:])), (first, int(m[2] or first)),
                           parse_stages(itinerary, stages))

    def intern(self, *key):
        return self.unique.setdefault(key, len(self.unique))

    def add(self, i, variants):
        base = self.timing(i.itinerary, i)
        if not variants:
            self.select.append((base, -1, -1, 0))
            return
        chosen = [n for n, o in enumerate(i.operands) if o.class_name.startswith("OP_")][:len(variants[0])]
        table, size, two = len(self.variants), len(self.groups) + 1, len(chosen) > 1
        self.variants += [base] * (size * size if two else size)
        for tokens in variants:
            if len(tokens) != len(chosen):
                fail("schedule.tsv", i.itinerary, f"variant {tokens} does not fit the operands of {i.name}")
            for token, n in zip(tokens, chosen):
                operand = i.operands[n]
                if not self.members(token) <= set(self.tables.classes.classes[operand.cls][2]):
                    fail("schedule.tsv", i.itinerary, f"variant {tokens} does not fit {operand.name}")
            at = self.group(tokens[0]) * size + self.group(tokens[1]) if two else self.group(tokens[0])
            self.variants[table + at] = self.timing(i.itinerary + "_" + "_".join(tokens), i)
        self.select.append((base, chosen[0], chosen[1] if two else -1, table))


# -------------------------------------------------------------------- output


class Pool:
    """An array of C++ initialisers where equal runs are stored once; span() names a run."""

    def __init__(self, cpp_type, name):
        self.type, self.name, self.items, self.runs = cpp_type, name, [], {}

    def span(self, items):
        items = tuple(items)
        if not items:
            return "{}"
        if items not in self.runs:
            self.runs[items] = len(self.items)
            self.items += items
        return f"{{{self.name} + {self.runs[items]}, {len(items)}}}"

    def text(self):
        return array(self.type, self.name, self.items)


def array(cpp_type, name, items, prefix="constexpr "):
    items = list(items) or ["{}"]
    lines = "".join(f"    {i},\n" for i in items)
    return f"{prefix}{cpp_type} {name}[] = {{\n{lines}}};\n\n"


def flag(value):
    return "true" if value else "false"


def hex64(value):
    return f"0x{value:x}ull"


class Writer:
    def __init__(self, tables, instructions, formats, timings, tree, roots):
        self.t, self.instructions, self.formats = tables, instructions, formats
        self.timings, self.tree, self.roots = timings, tree, roots
        self.pools = []

    def pool(self, cpp_type, name):
        self.pools.append(Pool(cpp_type, name))
        return self.pools[-1]

    def registers(self):
        parts = self.pool("RegPart", "kParts")
        regs = self.t.registers
        rows = ['{"", 0, {}}']
        for name in regs.names:
            run = [f"{{Bank::{bank}, {bit}, {bits}}}" for bank, bit, bits in regs.parts[name]]
            rows.append(f'{{"{asm_name(name)}", {regs.bits[name]}, {parts.span(run)}}}')
        return array("RegInfo", "kRegInfo", rows, "extern constexpr ") + array(
            "u32", "kBankBits", [BANK_BITS[b] for b in BANKS], "extern constexpr ")

    def classes(self):
        members, codes = self.pool("Reg", "kClassMembers"), self.pool("u16", "kClassCodes")
        rows, self.first, of_code = [], [], []
        for name, bits, table in self.t.classes.classes:
            ordered = sorted(table, key=lambda r: self.t.registers.names.index(r))
            rows.append(f'{{"{name}", {bits}, {members.span("Reg::" + r for r in ordered)}, '
                        f"{codes.span(table[r] for r in ordered)}}}")
            self.first.append(len(of_code))
            by_code = {code: reg for reg, code in table.items()}
            of_code += ["Reg::" + by_code.get(code, "kNone") for code in range(1 << bits)]
        imms = [f'{{"{n}", {b}, {s}, {o}, {lo}, {hi}, {flag(sg)}}}'
                for n, b, s, o, lo, hi, sg in self.t.immediates.classes]
        return (array("RegClass", "kRegClassRows", rows) + array("ImmClass", "kImmClassRows", imms) +
                "extern constexpr std::span<const RegClass> kRegClasses{kRegClassRows};\n"
                "extern constexpr std::span<const ImmClass> kImmClasses{kImmClassRows};\n\n" +
                array("Reg", "kRegOfCode", of_code, "extern constexpr "))

    def ops(self):
        operands, regs = self.pool("OperandInfo", "kOperands"), self.pool("Reg", "kImplicit")
        codes, items = self.pool("OperandCode", "kCodes"), self.pool("SyntaxItem", "kItems")
        infos, encodings, syntax = [], [], []
        for i in self.instructions:
            run = [f'{{"{o.name}", OperandKind::{"kReg" if o.is_reg else "kImm"}, {o.cls}, {flag(o.is_out)}, '
                   f"{flag(o.pieces is not None)}, {o.tied}}}" for o in i.operands]
            flags = ", ".join(flag(f in i.flags) for f in ("load", "store", "side", "delay"))
            infos.append(f'{{"{i.name}", "{i.mnemonic}", "{i.syntax}", {SLOT_ENUM[i.slot]}, {flags}, '
                         f'{operands.span(run)}, {i.outs}, {regs.span("Reg::" + r for r in i.defs)}, '
                         f'{regs.span("Reg::" + r for r in i.uses)}}}')
            run = [f"{{{flag(o.is_reg)}, {self.first[o.cls] if o.is_reg else o.cls}, {{" +
                   ", ".join(f"{{{p[0]}, {p[1]}, {p[2]}}}" for p in o.code) + "}}" for o in i.operands]
            span = codes.span(run).strip("{}").split(",")[0] or "nullptr"
            encodings.append(f"{{{hex64(i.mask)}, {hex64(i.value)}, {span}, {len(i.operands)}}}")
            syntax.append(items.span(f'{{{n}, "{text}"}}' for n, text in i.items))
        return (array("InstrInfo", "kInstrInfo", infos, "extern constexpr ") +
                array("Encoding", "kEncoding", encodings, "extern constexpr ") +
                array("std::span<const SyntaxItem>", "kSyntax", syntax, "extern constexpr "))

    def bundle_formats(self):
        rows = []
        for name, bits, mask, value, slots in self.formats:
            ordered = sorted(slots, key=SLOT_ORDER.index)
            slot_mask = sum(1 << SLOTS.index(s) for s in slots)
            words = ", ".join(f"{{{hex64(v & (1 << 64) - 1)}, {hex64(v >> 64)}}}" for v in (mask, value))
            places = ", ".join(f"{{{SLOT_ENUM[s]}, {slots[s]}}}" for s in ordered)
            rows.append(f'{{"{name}", {bits // 8}, {slot_mask}, {len(slots)}, {words}, {{{places}}}}}')
        nops = ["Op::" + self.t.slot_nop[s][0] for s in SLOTS]
        return (array("Format", "kFormatRows", rows) +
                "extern constexpr std::span<const Format> kFormats{kFormatRows};\n\n" +
                array("u8", "kSlotBits", [self.t.slot_bits[s] for s in SLOTS], "extern constexpr ") +
                array("Op", "kSlotNop", nops, "extern constexpr "))

    def decoding(self):
        nodes = [f"{{{a}, {b}, {c}, {d}}}" for a, b, c, d in self.tree.nodes]
        return (array("u16", "kDecodeRoot", self.roots, "extern constexpr ") +
                array("DecodeNode", "kDecodeNodes", nodes, "extern constexpr ") +
                array("u16", "kDecodeChildren", self.tree.children, "extern constexpr ") +
                array("Op", "kDecodeLeaves", ["Op::" + n for n in self.tree.leaves], "extern constexpr "))

    def timing(self):
        def cycles(pair):
            return f"{{{pair[0]}, Bypass::{pair[1]}}}"
        implicit = self.pool("std::pair<Reg, OperandTiming>", "kImplicitTiming")
        units = self.pool("UnitUse", "kUnitUses")
        rows = []
        for operands, defs, uses, memory, stages in self.timings.unique:
            d, u = (implicit.span(f"{{Reg::{r}, OperandTiming{cycles(c)}}}" for r, c in part)
                    for part in (defs, uses))
            s = units.span(f"{{{unit}, {start}, {n}, {flag(weak)}}}" for unit, start, n, weak in stages)
            ops = "{{" + ", ".join(cycles(c) for c in operands) + "}}"
            rows.append(f"{{{ops}, {d}, {u}, {memory[0]}, {memory[1]}, {s}}}")
        select = [f"{{{base}, {a}, {b}, {table}}}" for base, a, b, table in self.timings.select]
        group = [0] + [self.timings.group_of.get(r, 0) for r in self.t.registers.names]
        return (array("Timing", "kTimingRows", rows) +
                "extern constexpr std::span<const Timing> kTimings{kTimingRows};\n\n" +
                array("TimingSelect", "kTimingSelect", select, "extern constexpr ") +
                array("u8", "kTimingGroup", group, "extern constexpr ") +
                f"extern constexpr int kTimingGroups = {len(self.timings.groups) + 1};\n\n" +
                array("u16", "kTimingVariant", self.timings.variants, "extern constexpr ") +
                array("std::string_view", "kUnitRows", [f'"{u}"' for u in UNITS]) +
                "extern constexpr std::span<const std::string_view> kUnits{kUnitRows};\n\n")

    def write(self, path):
        sections = [self.registers(), self.classes(), self.ops(), self.bundle_formats(), self.decoding(),
                    self.timing()]
        with open(path, "w", encoding="utf-8") as f:
            f.write("// Generated by tools/gen_isa.py from src/isa/tables/*.tsv.\n")
            f.write('#include "isa/tables.h"\n\nnamespace tegula::isa::tables {\n\nnamespace {\n\n')
            f.write("".join(p.text() for p in self.pools) + "}  // namespace\n\n" + "".join(sections))
            f.write("}  // namespace tegula::isa::tables\n")


def write_enums(path, instructions, registers):
    with open(path, "w", encoding="utf-8") as f:
        f.write("// Generated by tools/gen_isa.py from src/isa/tables/*.tsv.\n#pragma once\n\n")
        f.write('#include "base/types.h"\n\nnamespace tegula::isa {\n\n')
        f.write("enum class Op : u16 {\n" + "".join(f"  {i.name},\n" for i in instructions))
        f.write("  kCount\n};\n\n")
        f.write("enum class Reg : u16 {\n  kNone = 0,\n" + "".join(f"  {n},\n" for n in registers.names))
        f.write("  kCount\n};\n\n}  // namespace tegula::isa\n")


class Tables:
    def __init__(self, directory):
        self.registers = Registers(directory)
        self.classes = RegisterClasses(directory, self.registers)
        self.immediates = ImmediateClasses(directory)


def generate(directory, out):
    tables = Tables(directory)
    instructions = read_instructions(directory, tables)
    formats = read_formats(directory, tables.slot_bits)
    check_overlaps(instructions, tables)
    timings = Timings(directory, instructions, tables)
    tree = DecodeTree()
    roots = [tree.add([i for i in instructions if i.slot == s], tables.slot_bits[s]) for s in SLOTS]
    os.makedirs(out, exist_ok=True)
    write_enums(os.path.join(out, "enums.h"), instructions, tables.registers)
    Writer(tables, instructions, formats, timings, tree, roots).write(os.path.join(out, "tables.cc"))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: gen_isa.py TABLE_DIR OUT_DIR")
    try:
        generate(sys.argv[1], sys.argv[2])
    except TableError as error:
        sys.exit(f"gen_isa.py: {error}")


if __name__ == "__main__":
    main()
