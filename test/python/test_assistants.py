import pytest
from langgraph_sdk.errors import ConflictError, NotFoundError


def test_lifecycle(client, unique):
    made = client.assistants.create(
        "steps", {"tags": ["a"]}, name=unique, metadata={"of": unique}, description="first"
    )
    id = made["assistant_id"]
    assert (made["graph_id"], made["name"], made["version"]) == ("steps", unique, 1)
    assert client.assistants.get(id) == made
    with pytest.raises(ConflictError):
        client.assistants.create("steps", assistant_id=id)
    assert client.assistants.create("steps", assistant_id=id, if_exists="do_nothing") == made

    changed = client.assistants.update(id, description="second", metadata={"more": 1})
    assert (changed["version"], changed["description"]) == (2, "second")
    assert changed["metadata"].items() >= {"of": unique, "more": 1}.items()
    versions = client.assistants.get_versions(id)
    assert [each["version"] for each in versions] == [2, 1]
    assert client.assistants.set_latest(id, 1)["description"] == "first"

    client.assistants.delete(id)
    with pytest.raises(NotFoundError):
        client.assistants.get(id)


def test_search_and_count(client, unique):
    for n in range(3):
        client.assistants.create("echo", name=f"{unique}-{n}", metadata={"of": unique})
    found = client.assistants.search(
        metadata={"of": unique}, limit=2, sort_by="name", sort_order="asc", select=["name"]
    )
    assert found == [{"name": f"{unique}-0"}, {"name": f"{unique}-1"}]
    page = client.assistants.search(
        metadata={"of": unique}, graph_id="echo", limit=2, response_format="object"
    )
    assert (len(page["assistants"]), page["next"]) == (2, "2")
    assert client.assistants.count(metadata={"of": unique}) == 3
    assert client.assistants.count(name=f"{unique}-2") == 1
    assert client.assistants.count(metadata={"of": unique}, graph_id="steps") == 0


def test_graph(client):
    graph = client.assistants.get_graph("interrupts_after_a_step", xray=True)
    assert {"__start__", "after", "inner:question"} <= {node["id"] for node in graph["nodes"]}
    schemas = client.assistants.get_schemas("steps")
    assert "delay_ms" in schemas["input_schema"]["properties"]
    assert list(client.assistants.get_subgraphs("nested")) == ["inner"]
    assert list(client.assistants.get_subgraphs("nested", "inner", recurse=True)) == ["inner"]
