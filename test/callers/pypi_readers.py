"""Reads the list with one client of PyPI, and prints how many orders there are, the last identifier, and its memory.

    python pypi_readers.py READER BASE_URL KEY
"""

import io
import resource
import sys

READER, BASE_URL, KEY = sys.argv[1:]
URL = f"{BASE_URL}/store/orders"
HEADERS = {"Authorization": f"Bearer {KEY}"}


def last_of(orders):
    count = 0
    for order in orders:
        count, last = count + 1, order["id"]
    return count, last


def requests():
    import ijson, requests

    response = requests.get(URL, headers=HEADERS, stream=True)
    response.raw.decode_content = True
    return last_of(ijson.items(response.raw, "item"))


def httpx():
    import httpx, ijson

    with httpx.stream("GET", URL, headers=HEADERS) as response:
        return last_of(ijson.items(ijson.from_iter(response.iter_bytes()), "item"))


def pandas():
    import pandas, requests

    response = requests.get(URL, headers=HEADERS)
    orders = pandas.read_json(io.BytesIO(response.content))
    return len(orders), orders["id"].iloc[-1]


def polars():
    import polars, requests

    response = requests.get(URL, headers=HEADERS)
    orders = polars.read_json(io.BytesIO(response.content), infer_schema_length=None)
    return len(orders), orders["id"][-1]


def DuckDB():
    import os, tempfile
    import duckdb, requests

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("list.json", "wb") as file:
            file.write(requests.get(URL, headers=HEADERS).content)
        return duckdb.execute("SELECT count(*), max(id) FROM read_json('list.json')").fetchone()


print(*globals()[READER](), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
