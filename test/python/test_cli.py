"""`langgraph deploy` of langgraph-cli, the command line of Python."""

import json
import os
import subprocess
import sys

import pytest

AGENT = "export async function* agent() { console.log('of the agent'); yield { log: ['x'] }; }"


@pytest.fixture
def langgraph(stack, tmp_path):
    def run(*args, code=0, key=stack["api_key"]):
        command = [sys.executable, "-m", "langgraph_cli", "deploy", *args]
        options = ["--host-url", stack["base_url"], "--api-key", key]
        env = {**os.environ, "LANGGRAPH_CLI_NO_ANALYTICS": "1", "NO_COLOR": "1"}
        done = subprocess.run(
            command + options, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def folder(tmp_path):
    graphs = {"graphs": {"agent": "./agent.mjs:agent"}, "node_version": "20"}
    (tmp_path / "langgraph.json").write_text(json.dumps(graphs))
    (tmp_path / "agent.mjs").write_text(AGENT)
    (tmp_path / "package.json").write_text(json.dumps({"name": "a", "version": "1.0.0"}))
    return tmp_path


def test_deploy_list_revisions_logs_and_delete(langgraph, folder, unique):
    deploy = ["-c", "langgraph.json", "--name", unique, "--remote", "--no-input"]
    assert "Deployment" in langgraph(*deploy)
    assert unique in langgraph("list", "--name-contains", unique)
    [listed] = json.loads(langgraph("list", "--name-contains", unique, "--json"))
    id = listed["id"]
    assert "DEPLOYED" in langgraph("revisions", "list", id, "--limit", "5")
    assert langgraph("logs", "--deployment-id", id, "--type", "build").strip()
    langgraph("logs", "--deployment-id", id, "--type", "deploy", "--limit", "5")
    langgraph("delete", id, "--force")
    assert id not in langgraph("list", "--name-contains", unique)


def test_refusals(langgraph, folder, unique):
    (folder / "agent.mjs").write_text("export const other = 1;")
    deploy = ["-c", "langgraph.json", "--name", unique, "--remote", "--no-input"]
    assert "agent.mjs" in langgraph(*deploy, code=1)
    assert "401" in langgraph("list", code=1, key="lsv2_sk_wrong")
