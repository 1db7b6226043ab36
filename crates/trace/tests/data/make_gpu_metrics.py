"""Makes `gpu-metrics.sqlite`: GPU metrics in the schema that nsys documents for its exports (3.7), of two GPUs of
which a program uses one. Rows are in no order, a metric has no counterpart, and samples are missing once.
"""

import os
import random
import sqlite3

if os.path.exists("gpu-metrics.sqlite"):
    os.remove("gpu-metrics.sqlite")
base = sqlite3.connect("gpu-metrics.sqlite")
base.executescript(
    """
    create table META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
    insert into META_DATA_EXPORT values ('EXPORT_PRODUCT_VERSION', 'made'), ('EXPORT_SCHEMA_VERSION', '3.7.2');
    create table StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    insert into StringIds values (1, 'gemm');
    create table TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, uuid TEXT);
    insert into TARGET_INFO_GPU values (0, 'H200', 'aa'), (1, 'H200', 'bb');
    create table TARGET_INFO_CUDA_DEVICE (gpuId INTEGER NOT NULL, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
    insert into TARGET_INFO_CUDA_DEVICE values (1, 0, 77);
    create table CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
        streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
        shortName INTEGER NOT NULL);
    create table TARGET_INFO_GPU_METRICS (typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL, typeName TEXT NOT NULL,
        metricId INTEGER NOT NULL, metricName TEXT NOT NULL);
    create table GPU_METRICS (timestamp INTEGER, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL,
        value INTEGER NOT NULL);
    """
)
base.execute("insert into CUPTI_ACTIVITY_KIND_KERNEL values (1000000, 1500000, 0, 7, 1, ?, 1, 1)", (1 << 48 | 77 << 24,))
names = ["GPC Clock Frequency [MHz]", "SMs Active [Throughput %]", "DRAM Read Bandwidth [Throughput %]", "Warp Drive [%]"]
types = [0x0100000000000100 + gpu for gpu in (0, 1)]
for kind in types:
    rows = [(kind, 1, "GPU Metrics", number, name) for number, name in enumerate(names)]
    base.executemany("insert into TARGET_INFO_GPU_METRICS values (?, ?, ?, ?, ?)", rows)
rows = []
for sample in range(100):
    # Ten samples are missing.
    if 60 <= sample < 70:
        continue
    for gpu, kind in enumerate(types):
        values = [1_980_000_000 - sample, sample + gpu, 100 - sample, 5]
        rows += [(900_000 + 10_000 * sample, kind, number, value) for number, value in enumerate(values)]
random.Random(1).shuffle(rows)
base.executemany("insert into GPU_METRICS values (?, ?, ?, ?)", rows)
base.commit()
