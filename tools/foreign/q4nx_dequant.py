#!/usr/bin/env python3
"""FastFlowLM's unpacking of 4-bit weights, with a stream of our own, against arithmetic.

  tools/foreign/q4nx_dequant.py DEQUANT.XCLBIN [--signed] [--groups N] [--seed S] [-- OPTION...]

For configurations with the structure of docs/formats/worked-examples.md, example 2: each column takes groups of
four Q4NX tiles (20,480 bytes) from its first shim channel and returns 4 x 32 x 256 bf16 values (65,536 bytes). A tile
(layout: engine/npu/src/dequant_q4nx.cpp of 1bit-MONSTER): 256 scales [column/32][row], 256 minima, both bf16, then 4-bit
numbers [row/16][column][row%16]. Expected: bf16(number * scale + minimum), one multiply-add, rounded down; block
(row/8, column/8) of a tile stored [column%8][row%8], the row blocks interleaved as the mem tile joins them. With --signed
(LFM2.5-1.2B) numbers are -8 to 7 and minima are not used.

A quarter of the scales and minima are extreme: zeros, denormal numbers, the largest finite ones, exponents far apart.
Exit code 0: no value is wrong. The options behind -- go to `tegula emu`.
"""
import argparse
import pathlib
import sys

import numpy

import array_stream
import floats
import q4nx

CORES, ARRAY_COLUMNS = 4, 8
ROWS, COLUMNS, TILE, RESULT = q4nx.ROWS, q4nx.COLUMNS, q4nx.BYTES, 2 * 32 * 256


def coefficients(random, count):
    """bf16 bits: normal numbers around 1, one in four of any finite value."""
    usual = floats.to_bf16_even(random.standard_normal(count).astype(numpy.float32))
    wild = random.integers(0, 1 << 16, count).astype(numpy.uint16)
    wild = numpy.where((wild & 0x7F80) == 0x7F80, wild & 0xBFFF, wild)
    corners = random.choice(numpy.array([0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x7F7F, 0xFF7F], numpy.uint16), count)
    kind = random.integers(0, 8, count)
    return numpy.where(kind == 0, wild, numpy.where(kind == 1, corners, usual)).astype(numpy.uint16)


def make_tiles(random, count):
    """Bytes of tiles, and their numbers [tile][row][column], scales and minima [tile][column/32][row]."""
    numbers = random.integers(0, 16, (count, ROWS, COLUMNS)).astype(numpy.uint8)
    scales, minima = (coefficients(random, count * 256).reshape(count, 8, ROWS) for _ in range(2))
    return q4nx.pack(numbers, scales, minima), numbers, scales, minima


def expected(numbers, scales, minima, signed):
    """Values [tile][row][column] as bf16 bits."""
    def spread(per_group):
        return numpy.repeat(per_group.transpose(0, 2, 1), 32, axis=2)

    values = numbers.astype(numpy.float32)
    if signed:
        values, minima = values - 16 * (numbers > 7), numpy.zeros_like(minima)
    number_bits = floats.to_bf16_even(values)
    return floats.to_bf16_floor(floats.mac(number_bits, spread(scales), spread(minima)))


def stored(values):
    """As the array writes tiles: rows of 256, line 8*(row/8) + column%8, place 8*(column/8) + row%8."""
    blocks = values.reshape(-1, 4, 8, 32, 8)  # tile, row/8, row%8, column/8, column%8
    return blocks.transpose(0, 1, 4, 3, 2).reshape(-1, ROWS, COLUMNS)


def make_stream(groups):
    stream = array_stream.Stream()
    bytes_in, bytes_out = groups * CORES * TILE, groups * CORES * RESULT
    for column in range(ARRAY_COLUMNS):
        stream.transfer(column, array_stream.S2MM, 0, 0, 1, column * bytes_out, bytes_out)
        stream.transfer(column, array_stream.MM2S, 0, 1, 0, column * bytes_in, bytes_in)
    for column in range(ARRAY_COLUMNS):
        stream.wait(column, array_stream.MM2S, 0)
        stream.wait(column, array_stream.S2MM, 0)
    return stream.bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("--signed", action="store_true", help="numbers in two's complement, no minima")
    parser.add_argument("--groups", type=int, default=3, help="groups of four tiles for each column")
    parser.add_argument("--seed", type=int, default=1)
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    random = numpy.random.default_rng(args.seed)
    count = args.groups * CORES * ARRAY_COLUMNS
    tiles, numbers, scales, minima = make_tiles(random, count)
    want = stored(expected(numbers, scales, minima, args.signed))
    report, out = array_stream.emulate(args.config, [make_stream(args.groups)], {0: tiles.tobytes()}, {1: count * RESULT},
                                       arguments[split + 1:])
    run = report["runs"][0]
    got = numpy.frombuffer(out[1], numpy.uint16).reshape(want.shape)
    wrong = numpy.argwhere(got != want)
    print(f"{count} tiles, end {run['end']}: {len(wrong)} of {want.size} values wrong, {run['cycles']} cycles modelled")
    if "message" in run:
        print(run["message"])
    for t, line, place in wrong[:5]:
        row, column = 8 * (line // 8) + place % 8, 8 * (place // 8) + line % 8
        print(f"tile {t}, row {row}, column {column}: {numbers[t, row, column]} * {scales[t, column // 32, row]:#06x} + "
              f"{minima[t, column // 32, row]:#06x} is {got[t, line, place]:#06x}, expected {want[t, line, place]:#06x}")
    return 0 if run["end"] == "done" and len(wrong) == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
