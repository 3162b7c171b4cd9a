"""The Q4NX tile of 32 x 256 values in 5,120 bytes: 256 scales [column/32][row], 256 minima, both bf16, then 4-bit numbers
[row/16][column][row%16]; value = number * scale + minimum. (engine/npu/src/dequant_q4nx.cpp of 1bit-MONSTER.)"""
import numpy

import floats

ROWS, COLUMNS, GROUP, BYTES = 32, 256, 32, 5120


def pack(numbers, scales, minima):
    """numbers [..., 32, 256], scales and minima [..., 8, 32] as bf16 bits -> bytes [..., 5120]."""
    count = numbers.shape[:-2]
    lanes = numpy.moveaxis(numbers.reshape(*count, 2, 16, COLUMNS), -1, -2)
    packed = lanes[..., 0::2] | lanes[..., 1::2] << 4
    return numpy.concatenate([numpy.ascontiguousarray(part).reshape(*count, -1).view(numpy.uint8)
                              for part in (scales, minima, packed)], axis=-1)


def quantise(weights):
    """fp32 [rows, columns] -> tiles [rows/32, columns/256, 5120], and what they stand for in fp64 [rows, columns]."""
    rows, columns = weights.shape
    groups = weights.reshape(rows // ROWS, ROWS, columns // COLUMNS, 8, GROUP).swapaxes(1, 2)
    minima = floats.to_bf16_even(groups.min(axis=-1))
    low = floats.bf16_bits_to_float(minima)
    scales = floats.to_bf16_even((groups.max(axis=-1) - low) / 15)
    step = floats.bf16_bits_to_float(scales)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        numbers = numpy.where(step[..., None] > 0, numpy.rint((groups - low[..., None]) / step[..., None]), 0)
    numbers = numpy.clip(numbers, 0, 15)
    values = (numbers * step[..., None].astype(numpy.float64) + low[..., None]).swapaxes(1, 2).reshape(rows, columns)
    tiles = pack(numbers.astype(numpy.uint8).reshape(*groups.shape[:3], COLUMNS), scales.swapaxes(-1, -2), minima.swapaxes(-1, -2))
    return tiles, values
