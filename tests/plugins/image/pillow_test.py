#!/usr/bin/env python3
"""The image plug-in beside Pillow, the standard's reference: files that Pillow writes, and some made by hand."""
import io
import os
import random
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../cli"))
from PIL import Image

from command import CommandTest
from onnx_files import *

PLUGIN, FORMATS = os.environ["ONYX_IMAGE_PLUGIN"], os.environ["ONYX_IMAGE_FORMATS"].split(",")
TURNED = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"  # Orientation 6
SIZES = [(1, 1), (17, 13), (33, 8)]


def picture(mode, size, seed=1):
    """Smooth in one part, noise in the other."""
    r, (w, h) = random.Random(seed), size
    rgb = bytes(v & 255 for y in range(h) for x in range(w) for v in
                ((x * 7 + y, 255 - x * 3, y * 11) if x % 16 < 9 else (r.randrange(256) for _ in range(3))))
    im = Image.frombytes("RGB", size, rgb)
    if mode in ("RGBA", "LA", "RGBX"):
        alpha = Image.frombytes("L", size, bytes(r.randrange(256) for _ in range(w * h)))
        im = im.convert("RGBA" if mode != "LA" else "LA")
        im.putalpha(alpha)
        return Image.frombytes("RGBX", size, im.tobytes()) if mode == "RGBX" else im
    if mode == "CMYK":
        return Image.frombytes("CMYK", size, bytes(r.randrange(256) for _ in range(4 * w * h)))
    return im.quantize(13) if mode == "P" else im.convert(mode)


def saved(mode, size, name, **options):
    out = io.BytesIO()
    picture(mode, size).save(out, name, **options)
    return out.getvalue()


def written_by_pillow():
    """name and bytes of each file"""
    table = {
        "JPEG": [("RGB", {"quality": q, "subsampling": s}) for q in (20, 75, 98) for s in (0, 1, 2)] +
                [("RGB", {"progressive": True}), ("L", {}), ("L", {"progressive": True}), ("CMYK", {}),
                 ("RGB", {"optimize": True}), ("RGB", {"exif": TURNED})],
        "PNG": [(m, {}) for m in ("1", "L", "LA", "P", "RGB", "RGBA")] + [("P", {"bits": b}) for b in (4, 8)] +
               [("P", {"transparency": 3}), ("RGB", {"transparency": (0, 255, 0)})],
        "TIFF": [(m, {"compression": c}) for m in ("1", "L", "LA", "P", "RGB", "RGBA", "RGBX", "CMYK")
                 for c in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits")] +
                [("1", {"compression": "group4"}), ("RGB", {"compression": "jpeg"}), ("L", {"compression": "jpeg"})] +
                [(m, {"tiffinfo": {274: o}}) for m in ("RGB", "RGBA") for o in range(1, 9)],
        "WEBP": [(m, o) for m in ("RGB", "RGBA") for o in ({"quality": 60}, {"lossless": True}, {"quality": 95})],
        "JPEG2000": [(m, o) for m in ("L", "LA", "RGB", "RGBA")
                     for o in ({}, {"no_jp2": True},
                               {"irreversible": True, "quality_mode": "rates", "quality_layers": [8]})] +
                    [("RGB", {"tile_size": (16, 8)})],
        "BMP": [(m, {}) for m in ("1", "L", "P", "RGB", "RGBA")],
        "PPM": [(m, {}) for m in ("1", "L", "RGB")],
    }
    for name, rows in table.items():
        for mode, options in rows:
            for size in SIZES:
                if name == "JPEG2000" and min(size) < 8:
                    continue  # which Pillow cannot write
                text = " ".join(f"{k} {v}" for k, v in options.items() if k != "exif")
                yield name, f"{name} {mode} {size[0]}x{size[1]} {text}", saved(mode, size, name, **options)


def pnm(kind, size, most, r):
    n = size[0] * size[1] * (3 if kind in (3, 6) else 1)
    values = [r.randrange(most + 1) for _ in range(n)]
    head = f"P{kind} # made by hand\n{size[0]}\t{size[1]}\n" + (f"{most}\n" if kind not in (1, 4) else "")
    if kind == 1:
        return (head + "".join(map(str, values))).encode()
    if kind < 4:
        return (head + "\n".join(map(str, values))).encode()
    return head.encode() + struct.pack(f">{n}{'H' if most > 255 else 'B'}", *values)


def bmp(bits, packing, size, pixels, palette=b"", masks=b""):
    offset = 54 + len(palette) + len(masks)
    return (b"BM" + struct.pack("<IHHI", offset + len(pixels), 0, 0, offset) +
            struct.pack("<IiiHHIIiiII", 40, *size, 1, bits, packing, len(pixels), 1, 1, len(palette) // 4, 0) + masks +
            palette + pixels)


def by_hand():
    r = random.Random(2)
    for size in SIZES:
        for kind in (1, 2, 3, 5, 6):
            for most in (1,) if kind == 1 else (1, 6, 100, 255) + ((1000, 65535) if kind in (3, 6) else ()):
                yield f"P{kind} {size[0]}x{size[1]} up to {most}", pnm(kind, size, most, r)
        step16 = (size[0] * 2 + 3) // 4 * 4
        noise = bytes(r.randrange(256) for _ in range(step16 * size[1]))
        yield f"BMP 555 {size}", bmp(16, 0, size, noise)
        yield f"BMP 565 {size}", bmp(16, 3, size, noise, masks=struct.pack("<III", 0xf800, 0x7e0, 0x1f))
        noise = bytes(r.randrange(256) for _ in range(4 * size[0] * size[1]))
        for masks in ((0xff0000, 0xff00, 0xff), (0xff000000, 0xff0000, 0xff00)):
            yield f"BMP masks {masks} {size}", bmp(32, 3, size, noise, masks=struct.pack("<III", *masks))
        yield f"BMP top down {size}", bmp(32, 0, (size[0], -size[1]), noise)
    palette = bytes(r.randrange(256) if i % 4 < 3 else 0 for i in range(64))
    # jumps, empty rows and odd literals are left out, which Pillow reads wrongly
    runs = (b"\x03\x01\x02\x07\x05\x00" + b"\0\0" + b"\0\x04\x01\x02\x03\x04\x09\x03" + b"\0\0\x05\x01" +
            b"\0\0\x0a\x0b\0\1")
    yield "BMP runs of 8 bits", bmp(8, 1, (10, 4), runs, palette)
    yield "BMP runs of 4 bits", bmp(4, 2, (10, 4), runs.replace(b"\x01\x02\x03\x04", b"\x12\x34"), palette)


class BesidePillow(CommandTest):
    def case(self, name, data):
        im = Image.open(io.BytesIO(data))
        im.load()
        for layout in ("RGB", "BGR", "Grayscale"):
            converted = im.convert("L" if layout == "Grayscale" else "RGB")
            want, n = converted.tobytes(), 1 if layout == "Grayscale" else 3
            if layout == "BGR":
                want = bytes(want[i - i % 3 + 2 - i % 3] for i in range(len(want)))
            nodes = [node("ImageDecoder", ["x"], ["y"], [attr_string("pixel_format", layout)])]
            write_case(os.path.join(self.folder, f"{name} {layout}".replace("/", "-")),
                       model(nodes, [("x", tensor_type(UINT8, ["n"]))], [("y", tensor_type(UINT8, ["h", "w", n]))],
                             [("", 20)]),
                       [tensor(UINT8, [len(data)], data)],
                       [tensor(UINT8, [converted.height, converted.width, n], want)])

    def compare(self, files):
        n = 0
        for name, data in files:
            self.case(name, data)
            n += 3
        out, _ = self.onyx("test", self.folder, "--plugin", PLUGIN)
        self.assertEqual(out, f"{n} passed, 0 failed, 0 skipped\n")

    def test_files_of_pillow(self):
        there = {"BMP", "PPM", *FORMATS}
        self.compare((name, data) for form, name, data in written_by_pillow() if form in there)

    def test_files_made_by_hand(self):
        self.compare(by_hand())


if __name__ == "__main__":
    unittest.main()
