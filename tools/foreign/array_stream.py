"""Controller streams of one's own for other people's configurations, and runs of `tegula emu` with them.

Stream format: docs/formats/txn.md, version 0.1. Buffer descriptors of the shim: docs/formats/array.md.
"""
import json
import pathlib
import struct
import subprocess
import tempfile

TEGULA = pathlib.Path(__file__).resolve().parent.parent.parent / "build/release/tegula"

S2MM, MM2S = 0, 1
QUEUES = {(S2MM, 0): 0x1D204, (S2MM, 1): 0x1D20C, (MM2S, 0): 0x1D214, (MM2S, 1): 0x1D21C}


def tile(column, row):
    return column << 25 | row << 20


class Stream:
    """Operations in the order of the calls; sizes, offsets and steps in bytes."""

    def __init__(self):
        self.ops = []

    def write(self, address, value):
        self.ops.append(struct.pack("<6I", 0, 0, address, 0, value, 24))

    def mask_write(self, address, value, mask):
        self.ops.append(struct.pack("<7I", 3, 0, address, 0, value, mask, 28))

    def block_write(self, address, words):
        self.ops.append(struct.pack(f"<{4 + len(words)}I", 1, 0, address, 16 + 4 * len(words), *words))

    def patch(self, address, argument, offset):
        self.ops.append(struct.pack("<12I", 0x81, 48, 0, 0, 0, 0, address, 0, argument, 0, offset, 0))

    def wait(self, column, direction, channel):
        self.ops.append(struct.pack("<4I", 0x80, 16, direction | column << 16, 1 << 8 | 1 << 16 | channel << 24))

    def write_byte(self, address, value):
        shift = 8 * (address % 4)
        self.mask_write(address & ~3, value << shift, 0xFF << shift)

    def transfer(self, column, direction, channel, bd, argument, offset, length, dims=(), repeat=1, step=0):
        """One task of a shim channel. dims: (count, step) innermost first, up to three, the last without limit."""
        words = [0] * 8
        words[0] = length // 4
        counts = [count for count, _ in dims] + [0] * (3 - len(dims))
        steps = [size // 4 for _, size in dims] + [1] * (3 - len(dims))
        words[3] = counts[0] << 20 | steps[0] - 1
        words[4] = 3 << 30 | counts[1] << 20 | steps[1] - 1
        words[5] = 2 << 24 | steps[2] - 1
        words[6] = (repeat - 1) << 20 | max(step // 4 - 1, 0)
        words[7] = 1 << 25
        base = tile(column, 0) + 0x1D000 + 0x20 * bd
        self.block_write(base, words)
        self.patch(base + 4, argument, offset)
        queue = tile(column, 0) + QUEUES[direction, channel]
        self.mask_write(queue - 4, 15 << 8, 31 << 8)
        self.write(queue, 1 << 31 | (repeat - 1) << 16 | bd)

    def bytes(self):
        body = b"".join(self.ops)
        return struct.pack("<8B2I", 0, 1, 4, 6, 8, 1, 0, 0, len(self.ops), 16 + len(body)) + body


def emulate(config, streams, inputs, outputs, options=()):
    """Runs streams (bytes) on a configuration. inputs: argument -> bytes; outputs: argument -> size.

    Returns the JSON of `tegula emu` and the bytes of the outputs. An output with an input starts as that input.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        command = [str(TEGULA), "emu", str(config), "--json", *options]
        for i, stream in enumerate(streams):
            (place / f"stream{i}").write_bytes(stream)
            command += ["--stream", str(place / f"stream{i}")]
        for number, data in inputs.items():
            (place / f"in{number}").write_bytes(data)
            command += ["--arg", f"{number}={place}/in{number}"]
        for number, size in outputs.items():
            command += ["--out", f"{number}={place}/out{number}:{size}"]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if not done.stdout.startswith("{"):
            raise SystemExit(done.stderr.strip())
        return json.loads(done.stdout), {number: (place / f"out{number}").read_bytes() for number in outputs}
