"""Writes the tables in ../files and their rows (tables.json). Run: python tables.py (pyarrow 26)."""

import json
import os

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
files = os.path.join(here, "..", "files")
os.makedirs(files, exist_ok=True)


def table(first, count):
    rows = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "small": pa.array([i % 7 - 3 for i in rows], pa.int8()),
            "score": pa.array([i / 4 for i in rows], pa.float64()),
            "half": pa.array([float(i) for i in rows], pa.float32()),
            "text": pa.array([f"row {i} ä" for i in rows], pa.string()),
            "label": pa.array([["no", "yes"][i % 2] for i in rows]).dictionary_encode(),
            "flag": pa.array([i % 3 == 0 for i in rows], pa.bool_()),
            "tokens": pa.array([list(range(i, i + i % 4)) for i in rows], pa.list_(pa.int64())),
            "vector": pa.array([[i * 0.5, -i] for i in rows], pa.list_(pa.float32(), 2)),
            "bytes": pa.array([bytes([i % 256, 7]) for i in rows], pa.binary()),
            "maybe": pa.array([None if i % 5 == 0 else i for i in rows], pa.int32()),
            "nested": pa.array([{"a": i, "b": f"b{i}"} for i in rows]),
        }
    )


def parquet(name, groups, first=0, **options):
    whole = table(first, sum(groups))
    with pq.ParquetWriter(os.path.join(files, name), whole.schema, **options) as writer:
        for count in groups:
            writer.write_table(table(first, count), row_group_size=count)
            first += count


parquet("uneven-0.parquet", [5, 1, 9])
parquet("uneven-1.parquet", [3, 4], first=15)
for codec in ["gzip", "brotli", "zstd", "lz4", "none"]:
    parquet(f"{codec}.parquet", [6], compression=codec, data_page_version="2.0" if codec == "gzip" else "1.0")
pq.write_table(pa.table({"id": pa.array([1, 2**60], pa.int64())}), os.path.join(files, "large-integers.parquet"))
pq.write_table(pa.table({"id": ["a", "b"]}), os.path.join(files, "other-type.parquet"))


def arrow(name, batches, first=0, writer=ipc.new_stream, **options):
    whole = table(first, sum(batches))
    with writer(os.path.join(files, name), whole.schema, options=ipc.IpcWriteOptions(**options)) as out:
        for count in batches:
            # A file has one dictionary; a stream may replace it before each batch.
            is_file = writer is ipc.new_file
            out.write_table(whole.slice(first, count) if is_file else table(first, count))
            first += count


arrow("uneven-0.arrow", [5, 1, 9])
arrow("uneven-1.arrow", [3, 4], first=15)
arrow("file.arrow", [5, 1, 9], writer=ipc.new_file)
arrow("zstd.arrow", [6], compression="zstd")
feather.write_feather(table(0, 6), os.path.join(files, "lz4.feather"))
# A frame of several blocks, which refer to each other.
long = pa.table({"text": ["".join(chr(97 + (i * j) % 26) for j in range(400)) for i in range(500)]})
feather.write_feather(long, os.path.join(files, "long.feather"), compression="lz4")


def plain(row):
    return {name: list(value) if isinstance(value, bytes) else value for name, value in row.items()}


with open(os.path.join(here, "tables.json"), "w") as out:
    rows = [json.dumps(plain(row), ensure_ascii=False) for row in table(0, 22).to_pylist()]
    out.write("[\n  " + ",\n  ".join(rows) + "\n]\n")
