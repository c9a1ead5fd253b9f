"""Metrics of the region, as a scraper reads them: Prometheus' own parser."""

import httpx
import pytest
from langgraph_sdk import get_sync_client
from prometheus_client.parser import text_string_to_metric_families


@pytest.fixture
def scrape(stack):
    def families():
        headers = {"Authorization": f"Bearer {stack['operator_token']}"}
        response = httpx.get(f"{stack['base_url']}/v1/metrics", headers=headers, timeout=60)
        assert response.status_code == 200, response.text
        return {family.name: family for family in text_string_to_metric_families(response.text)}

    return families


def total(families, name):
    family = families.get(name)
    return sum(sample.value for sample in family.samples) if family else 0


def test_a_run_is_counted(scrape, stack, agent_url):
    before = scrape()
    client = get_sync_client(url=agent_url, api_key=stack["api_key"])
    client.runs.wait(None, "echo", input={"messages": []})
    # A run of a known deployment may need no statement.
    listed = httpx.get(
        f"{stack['base_url']}/v2/deployments", headers={"X-Api-Key": stack["api_key"]}, timeout=60
    )
    assert listed.status_code == 200, listed.text
    after = scrape()
    for name in ("heddle_runs_started", "heddle_runs_ended", "heddle_d1_statements"):
        assert after[name].type == "counter"
        assert total(after, name) > total(before, name), name


def test_each_family_has_help_and_whole_histograms(scrape, stack, agent_url):
    get_sync_client(url=agent_url, api_key=stack["api_key"]).threads.create()
    families = scrape()
    histograms = [family for family in families.values() if family.type == "histogram"]
    assert "heddle_http_request_duration_seconds" in [family.name for family in histograms]
    for family in families.values():
        assert family.documentation and family.type in ("counter", "histogram", "gauge")
    for family in histograms:
        series = {}
        for sample in family.samples:
            labels = {name: value for name, value in sample.labels.items() if name != "le"}
            parts = series.setdefault(str(sorted(labels.items())), {"buckets": []})
            if sample.name.endswith("_bucket"):
                parts["buckets"].append((float(sample.labels["le"]), sample.value))
            else:
                parts[sample.name.rsplit("_", 1)[1]] = sample.value
        for parts in series.values():
            assert parts["buckets"] == sorted(parts["buckets"])
            counts = [value for _, value in parts["buckets"]]
            assert counts == sorted(counts)
            assert parts["buckets"][-1] == (float("inf"), parts["count"])
            assert parts["sum"] >= 0
