"""The quick start of the control plane API: create, poll, update, poll, delete."""

import os
import time

import requests
from dotenv import load_dotenv

load_dotenv()

HOST = os.environ["CONTROL_PLANE_HOST"]
HEADERS = {
    "X-Api-Key": os.environ["LANGSMITH_API_KEY"],
    "X-Tenant-Id": os.environ["WORKSPACE_ID"],
}
INTEGRATION_ID = os.environ["INTEGRATION_ID"]
REPO_URL = os.environ["REPO_URL"]
MAX_WAIT_SECONDS = 1800
POLL_SECONDS = float(os.getenv("POLL_SECONDS", "60"))


def call(method: str, path: str, status: int, body: dict | None = None):
    response = requests.request(method, f"{HOST}/v2/deployments{path}", headers=HEADERS, json=body)
    if response.status_code != status:
        raise RuntimeError(f"{method} {path}: {response.status_code} {response.text}")
    return response.json() if response.content else None


def create_deployment() -> str:
    body = {
        "name": "my_deployment",
        "source": "github",
        "source_config": {
            "integration_id": INTEGRATION_ID,
            "repo_url": REPO_URL,
            "deployment_type": "dev",
            "build_on_push": False,
            "custom_url": None,
            "resource_spec": None,
        },
        "source_revision_config": {
            "repo_ref": "main",
            "langgraph_config_path": "langgraph.json",
            "image_uri": None,
        },
        "secrets": [
            {"name": "OPENAI_API_KEY", "value": "test_openai_api_key"},
            {"name": "ANTHROPIC_API_KEY", "value": "test_anthropic_api_key"},
            {"name": "TAVILY_API_KEY", "value": "test_tavily_api_key"},
        ],
    }
    return call("POST", "", 201, body)["id"]


def update_deployment(deployment_id: str) -> None:
    body = {
        "source_config": {"build_on_push": True},
        "source_revision_config": {
            "repo_ref": "main",
            "langgraph_config_path": "langgraph.json",
        },
    }
    call("PATCH", f"/{deployment_id}", 200, body)


def newest_revision(deployment_id: str) -> str:
    return call("GET", f"/{deployment_id}/revisions", 200)["resources"][0]["id"]


def wait_until_deployed(deployment_id: str, revision_id: str) -> None:
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while time.monotonic() < deadline:
        revision = call("GET", f"/{deployment_id}/revisions/{revision_id}", 200)
        status = revision["status"]
        print(revision_id, status)
        if status == "DEPLOYED":
            return
        if "FAILED" in status:
            raise RuntimeError(f"Revision {revision_id} is {status}: {revision}")
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"Revision {revision_id} was not deployed")


def main() -> None:
    deployment_id = create_deployment()
    first = newest_revision(deployment_id)
    wait_until_deployed(deployment_id, first)
    call("GET", f"/{deployment_id}", 200)

    update_deployment(deployment_id)
    second = newest_revision(deployment_id)
    if second == first:
        raise RuntimeError("The update made no revision")
    wait_until_deployed(deployment_id, second)

    call("DELETE", f"/{deployment_id}", 204)
    print("deleted", deployment_id)


if __name__ == "__main__":
    main()
