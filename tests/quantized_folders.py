#!/usr/bin/env python3
"""Makes small Hugging Face folders in other programs' quantized formats, each next to the same model in plain F32.

    quantized_folders.py MODEL OUT

MODEL is a folder with plain weights. For each format, OUT/FORMAT/packed has the projections in the format, and
OUT/FORMAT/plain their values according to the format's own documentation, computed here without the program. Only
Python's standard library is needed.
"""

import json
import math
import os
import random
import struct
import sys

GROUP = 32
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
       0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
FP4 = [0.0, 0.005208333333333333, 0.6666666666666666, 1.0, 0.3333333333333333, 0.5, 0.16666666666666666, 0.25]
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def f16(x):
    return struct.unpack("<e", struct.pack("<e", x))[0]


def bf16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def e4m3(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    return mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)


def nearest(levels, x):
    return min(range(len(levels)), key=lambda i: abs(levels[i] - x))


def pack_f16(values):
    return struct.pack(f"<{len(values)}e", *values)


def pack_bf16(values):
    return b"".join(struct.pack("<f", value)[2:] for value in values)


def pack_f32(values):
    return struct.pack(f"<{len(values)}f", *values)


def pack_words(lines, bits):
    """Each line of codes as a stream of bits in 32-bit words."""
    out = []
    for codes in lines:
        stream = sum(code << (i * bits) for i, code in enumerate(codes))
        out.append([stream >> (32 * w) & 0xFFFFFFFF for w in range(len(codes) * bits // 32)])
    return out


def words_bytes(rows):
    return b"".join(struct.pack(f"<{len(row)}I", *row) for row in rows)


def transposed(rows):
    return [list(column) for column in zip(*rows)]


class Matrix:
    """Rows of floats, and the results: tensors to store, and values."""

    def __init__(self, name, rows):
        self.base = name.removesuffix(".weight")
        self.rows, self.n_rows, self.n_cols = rows, len(rows), len(rows[0])
        self.tensors, self.values = {}, None

    def store(self, end, dtype, shape, data):
        self.tensors[self.base + end] = (dtype, shape, data)

    def quantize(self, bits, symmetric, column_group=None, number=f16):
        """codes [row][column], zeros and scales [row][group]; value = scale * (code - zero)."""
        n_groups = self.n_cols // GROUP
        group_of = column_group or [c // GROUP for c in range(self.n_cols)]
        top = 2**bits - 1
        self.codes, self.zeros, self.scales = [], [], []
        for row in self.rows:
            zeros, scales = [], []
            for g in range(n_groups):
                members = [row[c] for c in range(self.n_cols) if group_of[c] == g]
                if symmetric:
                    scales.append(number(max(map(abs, members)) / (2 ** (bits - 1) - 1)))
                    zeros.append(2 ** (bits - 1))
                else:
                    low, high = min(members + [0.0]), max(members + [0.0])
                    scales.append(number((high - low) / top))
                    zeros.append(max(0, min(top, round(-low / scales[-1]))))
            self.zeros.append(zeros)
            self.scales.append(scales)
            self.codes.append([max(0, min(top, round(row[c] / scales[group_of[c]]) + zeros[group_of[c]]))
                               for c in range(self.n_cols)])
        self.values = [[scales[group_of[c]] * (codes[c] - zeros[group_of[c]]) for c in range(self.n_cols)]
                       for codes, zeros, scales in zip(self.codes, self.zeros, self.scales)]

    def round_values(self):
        self.values = [[f16(f32(value)) for value in row] for row in self.values]


def gptq(bits, symmetric, version=1, ordered=False):
    def make(matrix, rng):
        groups = [c // GROUP for c in range(matrix.n_cols)]
        if ordered:
            rng.shuffle(groups)
        matrix.quantize(bits, symmetric, groups)
        if ordered:
            matrix.round_values()
        less = 1 if version == 1 else 0
        zeros = [[(zero - less) & (2**bits - 1) for zero in line] for line in transposed(matrix.zeros)]
        n_groups = matrix.n_cols // GROUP
        matrix.store(".qweight", "I32", [matrix.n_cols * bits // 32, matrix.n_rows],
                     words_bytes(transposed(pack_words(matrix.codes, bits))))
        matrix.store(".qzeros", "I32", [n_groups, matrix.n_rows * bits // 32], words_bytes(pack_words(zeros, bits)))
        matrix.store(".scales", "F16", [n_groups, matrix.n_rows],
                     b"".join(pack_f16(line) for line in transposed(matrix.scales)))
        matrix.store(".g_idx", "I32", [matrix.n_cols], struct.pack(f"<{matrix.n_cols}i", *groups))

    return make, {"quant_method": "gptq", "bits": bits, "group_size": GROUP, "sym": symmetric, "desc_act": ordered,
                  "checkpoint_format": "gptq" if version == 1 else "gptq_v2"}


def awq():
    def pack(codes):
        order = [0, 2, 4, 6, 1, 3, 5, 7]
        return [sum(codes[w + order[i]] << (4 * i) for i in range(8)) for w in range(0, len(codes), 8)]

    def make(matrix, _):
        matrix.quantize(4, False)
        n_groups = matrix.n_cols // GROUP
        matrix.store(".qweight", "I32", [matrix.n_cols, matrix.n_rows // 8],
                     words_bytes([pack(line) for line in transposed(matrix.codes)]))
        matrix.store(".qzeros", "I32", [n_groups, matrix.n_rows // 8],
                     words_bytes([pack(line) for line in transposed(matrix.zeros)]))
        matrix.store(".scales", "F16", [n_groups, matrix.n_rows],
                     b"".join(pack_f16(line) for line in transposed(matrix.scales)))

    return make, {"quant_method": "awq", "bits": 4, "group_size": GROUP, "version": "gemm", "zero_point": True}


def compressed_ints(bits, symmetric):
    def make(matrix, _):
        matrix.quantize(bits, symmetric, number=bf16)
        n_groups = matrix.n_cols // GROUP
        if bits == 8 and not symmetric:
            matrix.round_values()
        matrix.store(".weight_packed", "I32", [matrix.n_rows, matrix.n_cols * bits // 32],
                     words_bytes(pack_words(matrix.codes, bits)))
        matrix.store(".weight_scale", "BF16", [matrix.n_rows, n_groups],
                     b"".join(pack_bf16(line) for line in matrix.scales))
        matrix.store(".weight_shape", "I64", [2], struct.pack("<2q", matrix.n_rows, matrix.n_cols))
        if not symmetric:
            matrix.store(".weight_zero_point", "I32", [matrix.n_rows * bits // 32, n_groups],
                         words_bytes(transposed(pack_words(transposed(matrix.zeros), bits))))

    return make, {"quant_method": "compressed-tensors", "format": "pack-quantized"}


def whole_rows(matrix, number):
    """Bytes, and one scale per row."""
    scales = [number(max(map(abs, row)) / 127) for row in matrix.rows]
    codes = [[max(-128, min(127, round(x / scale))) for x in row] for row, scale in zip(matrix.rows, scales)]
    matrix.store(".weight", "I8", [matrix.n_rows, matrix.n_cols],
                 b"".join(struct.pack(f"<{matrix.n_cols}b", *line) for line in codes))
    return codes, scales


def compressed_bytes():
    def make(matrix, _):
        codes, scales = whole_rows(matrix, bf16)
        matrix.store(".weight_scale", "BF16", [matrix.n_rows, 1], pack_bf16(scales))
        matrix.values = [[scale * code for code in line] for line, scale in zip(codes, scales)]

    return make, {"quant_method": "compressed-tensors", "format": "int-quantized"}


def bnb_8bit():
    def make(matrix, _):
        codes, scales = whole_rows(matrix, f32)
        largest = [f32(scale * 127) for scale in scales]
        matrix.store(".SCB", "F32", [matrix.n_rows], pack_f32(largest))
        matrix.store(".weight_format", "U8", [], b"\0")
        # The program stores a scale in F16.
        matrix.values = [[f16(f32(scb * f32(1 / 127))) * code for code in line] for line, scb in zip(codes, largest)]

    return make, {"quant_method": "bitsandbytes", "load_in_8bit": True}


def bnb_4bit(kind, nested):
    levels = [f32(x) for x in (NF4 if kind == "nf4" else FP4 + [-x for x in FP4])]

    def make(matrix, rng):
        block, flat = 64, [x for row in matrix.rows for x in row]
        scales = [f32(max(abs(x) for x in flat[b:b + block])) for b in range(0, len(flat), block)]
        state = {"quant_type": kind, "blocksize": block, "dtype": "bfloat16", "shape": [matrix.n_rows, matrix.n_cols]}
        name = ".weight"
        if nested:
            table = [f32((i - 128) / 128) for i in range(256)]
            offset = f32(sum(scales) / len(scales))
            each = 4
            outer = [f32(max(abs(s - offset) for s in scales[b:b + each]) or 1.0)
                     for b in range(0, len(scales), each)]
            codes = [nearest(table, (s - offset) / outer[b // each]) for b, s in enumerate(scales)]
            scales = [f32(f32(table[code] * outer[b // each]) + offset) for b, code in enumerate(codes)]
            state.update(nested_blocksize=each, nested_dtype="float32", nested_offset=offset)
            matrix.store(name + ".absmax", "U8", [len(codes)], bytes(codes))
            matrix.store(name + ".nested_absmax", "F32", [len(outer)], pack_f32(outer))
            matrix.store(name + ".nested_quant_map", "F32", [256], pack_f32(table))
        else:
            matrix.store(name + ".absmax", "F32", [len(scales)], pack_f32(scales))
        numbers = [nearest(levels, x / scales[i // block]) for i, x in enumerate(flat)]
        matrix.store(name, "U8", [len(flat) // 2, 1],
                     bytes(numbers[i] << 4 | numbers[i + 1] for i in range(0, len(flat), 2)))
        matrix.store(name + ".quant_map", "F32", [16], pack_f32(levels))
        text = json.dumps(state).encode()
        matrix.store(f"{name}.quant_state.bitsandbytes__{kind}", "U8", [len(text)], text)
        values = [f16(f32(levels[number] * scales[i // block])) for i, number in enumerate(numbers)]
        matrix.values = [values[r * matrix.n_cols:(r + 1) * matrix.n_cols] for r in range(matrix.n_rows)]

    return make, {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind}


def e2m1_code(x):
    return nearest(E2M1, abs(x)) | (8 if x < 0 else 0)


def e2m1_value(code):
    return -E2M1[code & 7] if code & 8 else E2M1[code]


def pairs(codes):
    return bytes(codes[i] | codes[i + 1] << 4 for i in range(0, len(codes), 2))


def nvfp4(modelopt):
    def make(matrix, _):
        if matrix.n_cols % 64 != 0:
            return
        factor = f32(max(abs(x) for row in matrix.rows for x in row) / 6 / 448)
        if not modelopt:
            factor = f32(1 / f32(1 / factor))
        table = [e4m3(code) for code in range(0x7F)]
        codes, scales, matrix.values = b"", b"", []
        for row in matrix.rows:
            values = []
            for c in range(0, matrix.n_cols, 16):
                scale = nearest(table, max(abs(x) for x in row[c:c + 16]) / 6 / factor)
                numbers = [e2m1_code(x / (table[scale] * factor or 1.0)) for x in row[c:c + 16]]
                scales += bytes([scale])
                codes += pairs(numbers)
                values += [f32(e2m1_value(number) * table[scale] * factor) for number in numbers]
            matrix.values.append(values)
        end = ".weight" if modelopt else ".weight_packed"
        matrix.store(end, "U8", [matrix.n_rows, matrix.n_cols // 2], codes)
        matrix.store(".weight_scale", "F8_E4M3", [matrix.n_rows, matrix.n_cols // 16], scales)
        if modelopt:
            matrix.store(".weight_scale_2", "F32", [], pack_f32([factor]))
            matrix.store(".input_scale", "F32", [], pack_f32([1.0]))
        else:
            matrix.store(".weight_global_scale", "F32", [1], pack_f32([f32(1 / factor)]))

    config = {"quant_method": "modelopt", "quant_algo": "NVFP4"} if modelopt else {
        "quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}
    return make, config


def mxfp4():
    def make(matrix, _):
        codes, scales, matrix.values = b"", b"", []
        for row in matrix.rows:
            values = []
            for c in range(0, matrix.n_cols, 32):
                exponent = math.frexp(max(abs(x) for x in row[c:c + 32]))[1] - 3
                numbers = [e2m1_code(x / 2.0**exponent) for x in row[c:c + 32]]
                scales += bytes([exponent + 127])
                codes += pairs(numbers)
                values += [e2m1_value(number) * 2.0**exponent for number in numbers]
            matrix.values.append(values)
        matrix.store(".weight_packed", "U8", [matrix.n_rows, matrix.n_cols // 2], codes)
        matrix.store(".weight_scale", "U8", [matrix.n_rows, matrix.n_cols // 32], scales)

    return make, {"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized"}


# For each width: the largest code, the name of the packing, bits per place in a word, places per word, its bytes.
HQQ_WIDTHS = {8: (255, "8bit_u8", 8, 1, 1), 5: (31, "8bit_u8", 8, 1, 1), 4: (15, "4bit_u8", 4, 2, 1),
              3: (7, "3bit_32", 3, 10, 4), 2: (3, "2bit_u8", 2, 4, 1), 1.58: (2, "2bit_u8", 2, 4, 1),
              1: (1, "1bit_u8", 1, 8, 1)}


def hqq_words(lines, bits, n_places):
    """Words of codes from as many lines, with those of the first lines in the highest bits."""
    lines = lines + [[0] * len(lines[0])] * (-len(lines) % n_places)
    step = len(lines) // n_places
    return [[sum(lines[p * step + i][c] << bits * (n_places - 1 - p) for p in range(n_places))
             for c in range(len(lines[0]))] for i in range(step)]


def hqq_matrix(matrix, nbits, group, axis, number=f16, as_floats=False, offloaded=False, with_settings=True):
    """value = scale * (code - zero), with fractional zeros; the matrix reshaped to [-1, group] or [group, -1]."""
    top, packing, bits, n_places, word_bytes = HQQ_WIDTHS[nbits]
    flat = [x for row in matrix.rows for x in row]
    whole = group or (matrix.n_cols if axis else matrix.n_rows)
    width = whole if axis else len(flat) // whole
    lines = [flat[i:i + width] for i in range(0, len(flat), width)]
    groups = lines if axis else transposed(lines)
    scales = [number((max(xs) - min(xs)) / top) for xs in groups]
    zeros = [number(-min(xs) / scale) for xs, scale in zip(groups, scales)]
    codes = [[max(0, min(top, round(x / scale + zero))) for x in xs] for xs, scale, zero in zip(groups, scales, zeros)]
    if axis and whole % 32 == 0 and top < 32:
        # The program stores the product of scale and zero in F16,
        values = [[f32(scale * code + f16(f32(-scale * zero))) for code in xs]
                  for xs, scale, zero in zip(codes, scales, zeros)]
    else:
        # or otherwise all values.
        values = [[f16(f32(scale * f32(code - zero))) for code in xs] for xs, scale, zero in zip(codes, scales, zeros)]
    in_order = [x for line in (values if axis else transposed(values)) for x in line]
    matrix.values = [in_order[i:i + matrix.n_cols] for i in range(0, len(in_order), matrix.n_cols)]
    words = hqq_words(codes if axis else transposed(codes), bits, n_places)
    data = words_bytes(words) if word_bytes == 4 else b"".join(map(bytes, words))
    pack, dtype, n_bytes = (pack_bf16, "BF16", 2) if number is bf16 else (pack_f16, "F16", 2)
    shape = [len(words), width * word_bytes // n_bytes] if as_floats else [len(words), width]
    matrix.store(".W_q", dtype if as_floats else "I32" if word_bytes == 4 else "U8", shape, data)
    each = [len(scales), 1] if axis else [1, len(scales)]
    if offloaded:
        matrix.store(".zero_scale", dtype, [2] + each, pack(zeros) + pack(scales))
    else:
        matrix.store(".scale", dtype, each, pack(scales))
        matrix.store(".zero", dtype, each, pack(zeros))
    matrix.store(".shape", "I64", [2], struct.pack("<2q", matrix.n_rows, matrix.n_cols))
    if with_settings:
        store_hqq_settings(matrix, nbits, group, axis, packing, as_floats, offloaded, dtype)


def store_hqq_settings(matrix, nbits, group, axis, packing, as_floats, offloaded, dtype):
    matrix.store(".nbits", *(("I32", [], struct.pack("<i", nbits)) if isinstance(nbits, int) else
                             ("F32", [], pack_f32([nbits]))))
    for name, number in {"group_size": group, "axis": axis}.items():
        matrix.store("." + name, "I32", [], struct.pack("<i", number))
    texts = {"packing": packing, "unpack_view_dtype": "torch.int32" if packing == "3bit_32" else "torch.uint8",
             "compute_dtype": "torch.bfloat16" if dtype == "BF16" else "torch.float16"}
    for name, text in texts.items():
        matrix.store("." + name, "U8", [len(text)], text.encode())
    flags = {"view_as_float": as_floats, "quant_scale": False, "quant_zero": False, "offload_meta": offloaded,
             "encoded_state_dict": True, "stores_quant_config": True, "channel_wise": True, "optimize": True,
             "round_zero": False}
    for name, flag in flags.items():
        matrix.store("." + name, "U8", [], bytes([flag]))


def hqq_config(quant_config):
    return {"quant_method": "hqq", "quant_config": quant_config, "skip_modules": ["lm_head"]}


def hqq_params(nbits, group, axis):
    return {"weight_quant_params": {"nbits": nbits, "channel_wise": True, "group_size": group, "optimize": True,
                                    "round_zero": nbits == 4, "axis": axis, "view_as_float": False},
            "scale_quant_params": None, "zero_quant_params": None, "offload_meta": False}


def hqq(nbits, group=GROUP, axis=1, **options):
    def make(matrix, _):
        hqq_matrix(matrix, nbits, group, axis, **options)

    return make, hqq_config(hqq_params(nbits, group, axis))


def hqq_by_name():
    """Settings by tags and by a full name, and only in the config."""
    kinds = {"self_attn.q_proj": (4, 64, 1), "self_attn.k_proj": (3, 32, 1), "self_attn.v_proj": (8, 64, 0),
             "self_attn.o_proj": (2, None, 1), "mlp.gate_proj": (4, None, 0), "mlp.up_proj": (1, 8, 1),
             "mlp.down_proj": (5, 32, 1), "model.layers.1.mlp.down_proj": (4, 32, 0)}

    def make(matrix, _):
        tag = ".".join(matrix.base.split(".")[-2:])
        hqq_matrix(matrix, *kinds.get(matrix.base, kinds[tag]), with_settings=False)

    return make, hqq_config({name: hqq_params(*kind) for name, kind in kinds.items()})


FORMATS = {
    "gptq4": gptq(4, True), "gptq4_zeros": gptq(4, False), "gptq4_v2": gptq(4, False, version=2),
    "gptq4_act_order": gptq(4, False, ordered=True), "gptq2": gptq(2, False), "gptq3": gptq(3, False),
    "gptq8": gptq(8, True), "awq": awq(), "compressed_w4": compressed_ints(4, True),
    "compressed_w4_zeros": compressed_ints(4, False), "compressed_w8": compressed_ints(8, True),
    "compressed_w8_zeros": compressed_ints(8, False), "compressed_w8a8": compressed_bytes(), "bnb_int8": bnb_8bit(),
    "bnb_nf4": bnb_4bit("nf4", True), "bnb_fp4": bnb_4bit("fp4", False), "nvfp4_modelopt": nvfp4(True),
    "nvfp4_compressed": nvfp4(False), "mxfp4_compressed": mxfp4(),
    "hqq8": hqq(8), "hqq5": hqq(5), "hqq4": hqq(4), "hqq4_across_rows": hqq(4, group=128), "hqq4_axis0": hqq(4, axis=0),
    "hqq4_as_floats": hqq(4, number=bf16, as_floats=True), "hqq4_offloaded": hqq(4, offloaded=True), "hqq3": hqq(3),
    "hqq3_axis0": hqq(3, group=64, axis=0, as_floats=True), "hqq2": hqq(2), "hqq2_axis0": hqq(2, group=8, axis=0),
    "hqq_ternary": hqq(1.58), "hqq1": hqq(1), "hqq1_small_groups": hqq(1, group=8), "hqq_by_name": hqq_by_name(),
}


def read_tensors(folder):
    tensors = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            data = file.read()
        for key, entry in header.items():
            if key != "__metadata__":
                begin, end = entry["data_offsets"]
                tensors[key] = (entry["dtype"], entry["shape"], data[begin:end])
    return tensors


def write_folder(folder, config, tensors):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def floats(tensor):
    dtype, shape, data = tensor
    if dtype == "BF16":
        flat = [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    else:
        flat = struct.unpack(f"<{len(data) // 4}f", data)
    return [list(flat[r * shape[1]:(r + 1) * shape[1]]) for r in range(shape[0])]


def main(model, out):
    tensors = read_tensors(model)
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    for name, (make, settings) in FORMATS.items():
        rng, packed, plain = random.Random(1), {}, {}
        for key, tensor in tensors.items():
            packed[key] = plain[key] = tensor
            if not key.endswith("_proj.weight"):
                continue
            matrix = Matrix(key, floats(tensor))
            make(matrix, rng)
            if not matrix.tensors:
                continue
            del packed[key]
            packed.update(matrix.tensors)
            plain[key] = ("F32", tensor[1], b"".join(pack_f32(row) for row in matrix.values))
        write_folder(os.path.join(out, name, "packed"), {**config, "quantization_config": settings}, packed)
        write_folder(os.path.join(out, name, "plain"), config, plain)


if __name__ == "__main__":
    main(*sys.argv[1:])
