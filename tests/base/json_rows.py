#!/usr/bin/env python3
"""json_rows.py PROGRAM: reads back, with Python's json, what PROGRAM (base/json_test.c) prints when asked for rows."""
import json
import math
import struct
import subprocess
import sys

rows = [json.loads(line) for line in subprocess.run([sys.argv[1], "rows"], stdout=subprocess.PIPE, check=True)
        .stdout.decode().splitlines()]
bad = []
for row in rows:
    if "hex" in row:
        want = bytes.fromhex(row["hex"]).decode("utf-8", "replace")
        same = row["text"] == want
    else:
        want = struct.unpack(">d", bytes.fromhex(row["bits"]))[0]
        got = row["number"]
        same = struct.pack(">d", got).hex() == row["bits"] if math.isfinite(want) else got is None
    if not same:
        bad.append(f"{row}: wanted {want!r}")
print("\n".join(bad[:20]))
print(f"{len(rows) - len(bad)} of {len(rows)} rows read back")
sys.exit(1 if bad or len(rows) < 50000 else 0)
