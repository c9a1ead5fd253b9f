"""Bulk export: create a destination, create an export, poll it, read its runs."""

import os
import time

import requests

HOST = os.environ["LANGSMITH_ENDPOINT"]
HEADERS = {
    "Content-Type": "application/json",
    "X-API-Key": os.environ["LANGSMITH_API_KEY"],
    "X-Tenant-Id": os.environ["WORKSPACE_ID"],
}
POLL_SECONDS = float(os.getenv("POLL_SECONDS", "10"))


def call(method: str, path: str, body: dict | None = None):
    url = f"{HOST}/api/v1/bulk-exports{path}"
    response = requests.request(method, url, headers=HEADERS, json=body)
    if not response.ok:
        raise RuntimeError(f"{method} {path}: {response.status_code} {response.text}")
    return response.json()


destination = call(
    "POST",
    "/destinations",
    {
        "destination_type": "s3",
        "display_name": "My S3 Destination",
        "config": {
            "bucket_name": os.environ["S3_BUCKET"],
            "prefix": "root_folder_prefix",
            "region": os.environ["S3_REGION"],
            "endpoint_url": os.environ["S3_ENDPOINT"],
        },
        "credentials": {
            "access_key_id": os.environ["S3_ACCESS_KEY_ID"],
            "secret_access_key": os.environ["S3_SECRET_ACCESS_KEY"],
        },
    },
)
export = call(
    "POST",
    "",
    {
        "bulk_export_destination_id": destination["id"],
        "session_id": os.environ["PROJECT_ID"],
        "start_time": "2024-01-01T00:00:00Z",
        "end_time": "2024-01-02T23:59:59Z",
        "format_version": "v2_beta",
        "compression": "gzip",
    },
)
while export["status"] in ("CREATED", "RUNNING"):
    time.sleep(POLL_SECONDS)
    export = call("GET", f"/{export['id']}")
runs = call("GET", f"/{export['id']}/runs")
print("export:", export["status"])
print("runs:", [run["status"] for run in runs])
