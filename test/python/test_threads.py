import pytest
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

STEPS = {"delay_ms": 0}


@pytest.fixture
def finished(client, thread_id):
    client.runs.wait(thread_id, "steps", input=STEPS)
    return thread_id


def test_lifecycle(client, unique):
    made = client.threads.create(metadata={"of": unique}, graph_id="steps", ttl=60)
    id = made["thread_id"]
    assert (made["status"], made["metadata"]["graph_id"]) == ("idle", "steps")
    assert client.threads.get(id, include=["ttl"])["ttl"]["strategy"] == "delete"
    with pytest.raises(ConflictError):
        client.threads.create(thread_id=id)
    assert client.threads.create(thread_id=id, if_exists="do_nothing")["thread_id"] == id
    changed = client.threads.update(id, metadata={"more": 1}, ttl={"ttl": 5})
    assert changed["metadata"].items() >= {"of": unique, "more": 1}.items()
    assert client.threads.update(id, metadata={}, return_minimal=True) is None
    client.threads.delete(id)
    with pytest.raises(NotFoundError):
        client.threads.get(id)
    with pytest.raises(UnprocessableEntityError):
        client.threads.get("no-uuid")


def test_supersteps(client):
    made = client.threads.create(
        graph_id="steps",
        supersteps=[
            {"updates": [{"values": {}, "as_node": "__input__"}]},
            {"updates": [{"values": {"log": ["from elsewhere"]}, "as_node": "c"}]},
        ],
    )
    state = client.threads.get_state(made["thread_id"])
    assert (state["values"]["log"], state["next"]) == (["from elsewhere"], [])


def test_search_and_count(client, unique):
    ids = [client.threads.create(metadata={"of": unique})["thread_id"] for _ in range(3)]
    client.runs.wait(ids[0], "steps", input=STEPS)
    found = client.threads.search(
        metadata={"of": unique}, sort_by="created_at", sort_order="asc", select=["thread_id"]
    )
    assert found == [{"thread_id": id} for id in ids]
    by_ids = client.threads.search(ids=ids[:2], limit=5, offset=1)
    assert len(by_ids) == 1 and by_ids[0]["thread_id"] in ids[:2]
    done = client.threads.search(
        metadata={"of": unique},
        values={"log": ["a", "b", "c"]},
        status="idle",
        extract={"last": "values.log[-1]"},
    )
    assert [(each["thread_id"], each["extracted"]) for each in done] == [(ids[0], {"last": "c"})]
    assert client.threads.count(metadata={"of": unique}) == 3
    assert client.threads.count(metadata={"of": unique}, values={"log": ["a", "b", "c"]}) == 1
    assert client.threads.count(metadata={"of": unique}, status="busy") == 0


def test_state_and_history(client, finished):
    state = client.threads.get_state(finished)
    assert (state["values"]["log"], state["next"]) == (["a", "b", "c"], [])
    history = client.threads.get_history(finished, limit=10)
    assert [each["next"] for each in history] == [[], ["c"], ["b"], ["a"], ["__start__"]]
    earlier = client.threads.get_history(finished, before=history[2]["checkpoint"], limit=1)
    assert earlier[0]["checkpoint"] == history[3]["checkpoint"]
    assert len(client.threads.get_history(finished, metadata={"step": 0})) == 1

    at = history[2]["checkpoint"]
    assert client.threads.get_state(finished, checkpoint=at)["values"]["log"] == ["a"]
    by_id = client.threads.get_state(finished, checkpoint_id=at["checkpoint_id"], subgraphs=True)
    assert by_id["values"]["log"] == ["a"]
    narrow = client.threads.get_state(finished, select=["values", "next"])
    assert narrow["values"]["log"] == ["a", "b", "c"]
    assert set(client.threads.get_history(finished, limit=1, select=["next"])[0]) <= set(state)


def test_update_state(client, finished):
    updated = client.threads.update_state(finished, {"log": ["by hand"]}, as_node="a")
    assert updated["checkpoint"]["checkpoint_id"]
    state = client.threads.get_state(finished)
    assert (state["values"]["log"][-1], state["next"]) == ("by hand", ["b"])
    first = client.threads.get_history(finished, limit=20)[-2]["checkpoint"]
    client.threads.update_state(finished, {"log": ["fork"]}, as_node="a", checkpoint=first)
    assert client.threads.get_state(finished)["values"]["log"] == ["fork"]
    client.runs.wait(finished, "steps", input=None)
    assert client.threads.get_state(finished)["values"]["log"] == ["fork", "b", "c"]


def test_copy_and_prune(client, finished):
    copy = client.threads.copy(finished)
    copied = client.threads.get_state(copy["thread_id"])
    assert copied["values"] == client.threads.get_state(finished)["values"]
    assert client.threads.prune([finished], strategy="keep_latest") == {"pruned_count": 1}
    assert len(client.threads.get_history(finished)) == 1
    assert client.threads.prune([finished]) == {"pruned_count": 1}
    with pytest.raises(NotFoundError):
        client.threads.get(finished)


def test_join_stream(client, thread_id):
    run = client.runs.create(
        thread_id, "steps", input={"delay_ms": 50}, stream_mode="updates", stream_resumable=True
    )
    client.runs.join(thread_id, run["run_id"])
    events = []
    for part in client.threads.join_stream(thread_id, last_event_id="-", stream_mode="run_modes"):
        events.append(part)
        if len([each for each in events if each.event == "updates"]) == 3:
            break
    nodes = [list(each.data)[0] for each in events if each.event == "updates"]
    assert nodes == ["a", "b", "c"]
    resumed = client.threads.join_stream(thread_id, last_event_id=events[-2].id)
    assert next(iter(resumed)).data == events[-1].data


def test_close(stack, agent_url, loop):
    closing = get_sync_client(url=agent_url, api_key=stack["api_key"])
    assert closing.threads.count(metadata={"of": "nothing"}) == 0
    closing.close()
    assert closing.http.client.is_closed
    other = get_client(url=agent_url, api_key=stack["api_key"])
    assert loop.run_until_complete(other.threads.count(metadata={"of": "nothing"})) == 0
    loop.run_until_complete(other.aclose())
    assert other.http.client.is_closed
