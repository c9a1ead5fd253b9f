import pytest


@pytest.fixture
def namespace(unique):
    return [unique, "notes"]


def test_items(client, namespace):
    value = {"text": "snow on the road", "n": 1, "deep": {"list": [1, None, "é"]}}
    client.store.put_item(namespace, key="a", value=value)
    item = client.store.get_item(namespace, key="a", refresh_ttl=True)
    assert (item["namespace"], item["key"], item["value"]) == (namespace, "a", value)
    assert item["created_at"] <= item["updated_at"]
    client.store.delete_item(namespace, key="a")
    assert client.store.search_items(namespace)["items"] == []


def test_search_by_filter_and_by_meaning(client, namespace):
    for key, text in (("a", "snow and ice"), ("b", "sand and sun")):
        client.store.put_item(namespace, key=key, value={"text": text, "kind": key}, ttl=60)
    client.store.put_item(namespace, key="c", value={"kind": "b"}, index=False)
    found = client.store.search_items(namespace, filter={"kind": "b"}, limit=10, offset=0)
    assert {item["key"] for item in found["items"]} == {"b", "c"}
    [nearest, *_] = client.store.search_items(namespace, query="snow and ice")["items"]
    assert nearest["key"] == "a" and nearest["score"] > 0


def test_namespaces(client, unique):
    for tail in ("x", "y"):
        client.store.put_item([unique, "deep", tail], key="k", value={})
    listed = client.store.list_namespaces(prefix=[unique])["namespaces"]
    assert sorted(listed) == [[unique, "deep", "x"], [unique, "deep", "y"]]
    listed = client.store.list_namespaces(prefix=[unique], max_depth=2, limit=1)["namespaces"]
    assert listed == [[unique, "deep"]]
    assert client.store.list_namespaces(prefix=[unique], suffix=["z"])["namespaces"] == []
