import httpx
import pytest
from langgraph_sdk.errors import ConflictError, NotFoundError

HI = {"messages": [{"role": "user", "content": "hi"}]}
SLOW = {"delay_ms": 20_000}


def texts(values):
    return [message["content"] for message in values["messages"]]


def test_wait(client, thread_id):
    created = []
    values = client.runs.wait(thread_id, "echo", input=HI, on_run_created=created.append)
    assert texts(values) == ["hi", "echo: hi"]
    assert created[0]["thread_id"] == thread_id
    assert texts(client.runs.wait(None, "echo", input=HI)) == ["hi", "echo: hi"]


def test_wait_raises_an_error_of_the_graph(client, thread_id):
    with pytest.raises(Exception, match="the node broke"):
        client.runs.wait(thread_id, "fails", input={})
    failed = client.runs.wait(thread_id, "fails", input={}, raise_error=False)
    assert failed["__error__"]["message"] == "the node broke"
    assert client.threads.get(thread_id)["status"] == "error"


def test_create_get_list_join_and_delete(client, thread_id):
    run = client.runs.create(
        thread_id, "steps", input={"delay_ms": 0}, metadata={"n": 1}, durability="sync"
    )
    id = run["run_id"]
    assert run["status"] in ("pending", "running") and run["metadata"]["n"] == 1
    assert client.runs.join(thread_id, id)["log"] == ["a", "b", "c"]
    assert client.runs.get(thread_id, id)["status"] == "success"
    listed = client.runs.list(thread_id, limit=5, status="success", select=["run_id"])
    assert listed == [{"run_id": id}]
    client.runs.delete(thread_id, id)
    with pytest.raises(NotFoundError):
        client.runs.get(thread_id, id)


def test_create_batch(client):
    payload = {"assistant_id": "steps", "input": {"delay_ms": 0}}
    runs = client.runs.create_batch([payload, {**payload, "metadata": {"n": 2}}])
    assert len({run["run_id"] for run in runs}) == 2
    assert runs[1]["metadata"]["n"] == 2


def test_config_and_context(client, thread_id):
    values = client.runs.wait(
        thread_id,
        "config",
        input={"n": 1},
        config={"configurable": {"colour": "red"}, "tags": ["t"], "recursion_limit": 7},
    )
    assert values["seen"]["colour"] == "red"


def test_breakpoints(client, thread_id):
    steps = {"thread_id": thread_id, "assistant_id": "steps"}
    client.runs.wait(**steps, input={"delay_ms": 0}, interrupt_before=["b"])
    assert client.threads.get_state(thread_id)["next"] == ["b"]
    client.runs.wait(**steps, input=None, interrupt_after=["b"])
    assert client.threads.get_state(thread_id)["next"] == ["c"]
    assert client.runs.wait(**steps)["log"] == ["a", "b", "c"]


def test_interrupt_and_resume(client, thread_id):
    values = client.runs.wait(thread_id, "ask", input={})
    [asked] = values["__interrupt__"]
    assert asked["value"] == {"question": "go on?"}
    thread = client.threads.get(thread_id)
    assert thread["status"] == "interrupted"
    [[of_task]] = thread["interrupts"].values()
    assert of_task["id"] == asked["id"]
    done = client.runs.wait(thread_id, "ask", command={"resume": {asked["id"]: "yes"}})
    assert done["log"] == ["answer: yes", "done"]


def test_multitask(client, thread_id):
    client.runs.create(thread_id, "steps", input=SLOW)
    with pytest.raises(ConflictError):
        client.runs.create(thread_id, "steps", input={}, multitask_strategy="reject")
    values = client.runs.wait(
        thread_id, "steps", input={"delay_ms": 0}, multitask_strategy="rollback"
    )
    assert values["log"] == ["a", "b", "c"]


def test_cancel(client, thread_id):
    run = client.runs.create(thread_id, "steps", input=SLOW)["run_id"]
    client.runs.cancel(thread_id, run, wait=True)
    assert client.runs.get(thread_id, run)["status"] == "interrupted"
    run = client.runs.create(thread_id, "steps", input=SLOW)["run_id"]
    client.runs.cancel(thread_id, run, wait=True, action="rollback")
    with pytest.raises(NotFoundError):
        client.runs.get(thread_id, run)


def test_cancel_many(client, thread_id):
    runs = [client.runs.create(thread_id, "steps", input=SLOW)["run_id"] for _ in range(2)]
    client.runs.cancel_many(thread_id=thread_id, run_ids=runs)
    for run in runs:
        client.runs.join(thread_id, run)
        assert client.runs.get(thread_id, run)["status"] == "interrupted"


def test_missing_thread(client):
    thread = "01a20000-0000-7000-8000-000000000000"
    with pytest.raises(httpx.HTTPStatusError) as refused:
        client.runs.wait(thread, "echo", input=HI)
    assert refused.value.response.status_code == 404


def test_if_not_exists(client, unique):
    thread_id = client.threads.create()["thread_id"]
    client.threads.delete(thread_id)
    values = client.runs.wait(thread_id, "echo", input=HI, if_not_exists="create")
    assert texts(values) == ["hi", "echo: hi"]
