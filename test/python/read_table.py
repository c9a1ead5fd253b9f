"""Reads a table by pyiceberg and by DuckDB's extension, and prints the rows of its snapshots as JSON.

The argument is a JSON object: endpoint, region, access_key_id, secret_access_key, location, snapshots.
"""

import json
import sys
from pathlib import Path
from urllib.parse import urlparse

from pyiceberg.table import StaticTable

COLUMNS = ["id", "name", "tags", "parent_run_ids", "start_time", "inputs"]
SQL = "SELECT id, name, tags, parent_run_ids, epoch_us(start_time), inputs FROM iceberg_scan({args}) ORDER BY id"


def read_by_pyiceberg(given):
    table = StaticTable.from_metadata(
        given["location"],
        {
            "s3.endpoint": given["endpoint"],
            "s3.region": given["region"],
            "s3.access-key-id": given["access_key_id"],
            "s3.secret-access-key": given["secret_access_key"],
        },
    )

    def rows(snapshot_id=None):
        found = table.scan(selected_fields=tuple(COLUMNS), snapshot_id=snapshot_id).to_arrow()
        found = found.set_column(
            found.schema.get_field_index("start_time"),
            "start_time",
            found["start_time"].cast("int64"),
        )
        return sorted([row[name] for name in COLUMNS] for row in found.to_pylist())

    start = table.schema().find_field("start_time").field_id
    last = max(row[4] for row in rows())
    return {
        "rows": rows(),
        "snapshots": [rows(each) for each in given["snapshots"]],
        "exports": [each.summary["heddle.export-id"] for each in table.snapshots()],
        "start_time_id": start,
        "files_of_last_row": len(list(table.scan(f"start_time >= '{to_text(last)}'").plan_files())),
    }


def to_text(micros):
    from datetime import datetime, timedelta, timezone

    return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)).isoformat()


def read_by_duckdb(given):
    """Returns None on machines for which no package has the extension."""
    try:
        import duckdb
    except ImportError:
        return None
    folder = Path(duckdb.__file__).parent.parent / "duckdb_ext/extensions"
    db = duckdb.connect()
    for name in ["httpfs", "avro", "iceberg"]:
        (path,) = folder.glob(f"*/*/{name}.duckdb_extension")
        db.execute(f"LOAD '{path}'")
    db.execute(
        f"""CREATE SECRET (TYPE s3, KEY_ID '{given["access_key_id"]}', SECRET '{given["secret_access_key"]}',
        REGION '{given["region"]}', ENDPOINT '{urlparse(given["endpoint"]).netloc}', URL_STYLE 'path', USE_SSL false)"""
    )
    location = given["location"]

    def rows(args):
        return [list(row) for row in db.execute(SQL.format(args=args)).fetchall()]

    return {
        "rows": rows(f"'{location}'"),
        "snapshots": [
            rows(f"'{location}', snapshot_from_id = {each}") for each in given["snapshots"]
        ],
        "statements": [db.execute(sql).fetchall()[0][0] for sql in given["statements"]],
    }


given = json.loads(sys.argv[1])
print(json.dumps({"pyiceberg": read_by_pyiceberg(given), "duckdb": read_by_duckdb(given)}))
