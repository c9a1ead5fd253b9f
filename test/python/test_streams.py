"""Streams of runs: modes, versions, reconnects."""

import pytest

HI = {"messages": [{"role": "user", "content": "hi"}]}


def events_of(parts, mode):
    return [part.data for part in parts if part.event == mode]


def test_modes(client, thread_id):
    parts = list(
        client.runs.stream(
            thread_id,
            "nested",
            input={},
            stream_mode=["values", "updates", "custom", "debug", "tasks", "checkpoints"],
            stream_subgraphs=True,
        )
    )
    assert parts[0].event == "metadata" and parts[0].data["attempt"] == 1
    modes = {part.event.split("|")[0] for part in parts}
    assert {"values", "updates", "custom", "debug", "tasks", "checkpoints"} <= modes
    inner = [part for part in parts if part.event.startswith("custom|inner:")]
    assert [part.data for part in inner] == [{"from": "deep"}]
    assert events_of(parts, "values")[-1]["log"] == ["deep", "after"]


@pytest.mark.parametrize("mode", ["messages", "messages-tuple", "events"])
def test_tokens(client, mode):
    parts = list(client.runs.stream(None, "tokens", input=HI, stream_mode=mode))
    if mode == "messages":
        text = [part.data[0]["content"] for part in parts if part.event == "messages/partial"][-1]
    elif mode == "messages-tuple":
        text = "".join(message["content"] for message, _ in events_of(parts, "messages"))
    else:
        chunks = [
            each for each in events_of(parts, "events") if each["event"] == "on_chat_model_stream"
        ]
        text = "".join(each["data"]["chunk"]["content"] for each in chunks)
    assert text == "one two three"


def test_an_error_ends_the_stream(client):
    parts = list(client.runs.stream(None, "fails", input={}, stream_mode="updates"))
    assert parts[-1].event == "error"
    assert parts[-1].data["message"] == "the node broke"


def test_version_2(client, thread_id):
    parts = list(
        client.runs.stream(
            thread_id, "ask", input={}, stream_mode=["values", "updates"], version="v2"
        )
    )
    assert {"metadata", "values", "updates"} <= {part["type"] for part in parts}
    last = [part for part in parts if part["type"] == "values"][-1]
    assert last["ns"] == [] and last["interrupts"][0]["value"] == {"question": "go on?"}


def test_join_stream_after_an_event(client, thread_id):
    created = []
    stream = client.runs.stream(
        thread_id,
        "steps",
        input={"delay_ms": 200},
        stream_mode="updates",
        stream_resumable=True,
        on_disconnect="continue",
        on_run_created=created.append,
    )
    seen = []
    for part in stream:
        seen.append(part)
        if part.event == "updates":
            break
    if hasattr(stream, "close"):
        stream.close()
    rest = list(
        client.runs.join_stream(thread_id, created[0]["run_id"], last_event_id=seen[-1].id)
    )
    nodes = [list(data)[0] for data in events_of(seen + rest, "updates")]
    assert nodes == ["a", "b", "c"]


def test_join_stream_of_one_mode(client, thread_id):
    run = client.runs.create(
        thread_id, "steps", input={"delay_ms": 100}, stream_mode=["values", "updates"]
    )["run_id"]
    parts = list(client.runs.join_stream(thread_id, run, stream_mode="updates"))
    assert {part.event for part in parts} - {"metadata", "end"} <= {"updates"}
    assert client.runs.get(thread_id, run)["status"] == "success"


def test_cancel_on_disconnect(client, thread_id):
    run = client.runs.create(thread_id, "steps", input={"delay_ms": 20_000})["run_id"]
    stream = client.runs.join_stream(thread_id, run, cancel_on_disconnect=True)
    next(iter(stream))
    stream.close()
    client.runs.join(thread_id, run)
    assert client.runs.get(thread_id, run)["status"] == "interrupted"
