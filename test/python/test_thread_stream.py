"""The v2 streaming protocol: threads.stream over SSE and over a WebSocket."""

import asyncio
import time

import pytest
from langgraph_sdk import get_client, get_sync_client

HI = {"messages": [{"role": "user", "content": "hi"}]}
TRANSPORTS = pytest.mark.parametrize("transport", ["sse", "websocket"])


@pytest.fixture
def run_async(stack, agent_url):
    def run(work):
        async def main():
            async with get_client(url=agent_url, api_key=stack["api_key"]) as client:
                return await asyncio.wait_for(work(client), 60)

        return asyncio.run(main())

    return run


@pytest.fixture
def sync_client(stack, agent_url):
    with get_sync_client(url=agent_url, api_key=stack["api_key"]) as client:
        yield client


def stream(client, key, **options):
    """The SDK sends the key of the client over HTTP only: a WebSocket needs its own headers."""
    return client.threads.stream(headers={"X-Api-Key": key}, **options)


def tokens_in(events):
    deltas = [event["params"]["data"].get("delta", {}) for event in events]
    return "".join(delta.get("text", "") for delta in deltas)


@TRANSPORTS
def test_async_run(run_async, stack, transport):
    async def work(client):
        options = {"assistant_id": "tokens", "transport": transport}
        async with stream(client, stack["api_key"], **options) as thread:
            await thread.run.start(input=HI, metadata={"n": 1})
            events = [event async for event in thread.subscribe(["messages"])]
            return events, await thread.output, await thread.agent.get_tree()

    events, output, tree = run_async(work)
    assert tokens_in(events) == "one two three"
    assert [message["content"] for message in output["messages"]] == ["hi", "one two three"]
    assert "model" in [node["id"] for node in tree["nodes"]]


@TRANSPORTS
def test_async_interrupt(run_async, stack, transport):
    async def work(client):
        thread_id = (await client.threads.create())["thread_id"]
        options = {"thread_id": thread_id, "assistant_id": "ask", "transport": transport}
        async with stream(client, stack["api_key"], **options) as thread:
            await thread.run.start(input={})
            while not thread.interrupted:
                await asyncio.sleep(0.01)
            [asked] = thread.interrupts
            state = await client.threads.get_state(thread_id)
            await thread.run.respond("yes", interrupt_id=asked["interrupt_id"])
            return asked, state, await thread.output.with_timeout(30)

    asked, state, output = run_async(work)
    [pending] = state["tasks"][0]["interrupts"]
    assert (pending["id"], pending["value"]) == (asked["interrupt_id"], {"question": "go on?"})
    assert output["log"] == ["answer: yes", "done"]


def test_async_subscriptions(run_async):
    async def work(client):
        async with client.threads.stream(assistant_id="nested") as thread:
            await thread.run.start(input={})
            custom = [event async for event in thread.subscribe(["custom"], depth=2)]
            every = []
            async for event in thread.events:
                every.append(event["method"])
                if event["method"] == "lifecycle" and event["params"]["data"]["event"] == "completed":
                    if not event["params"]["namespace"]:
                        break
        async with client.threads.stream(assistant_id="nested") as thread:
            await thread.run.start(input={})
            mixed = [
                (name, item)
                async for name, item in thread.interleave_projections(["values", "subgraphs"])
            ]
            await thread.close()
        return custom, every, mixed

    custom, every, mixed = run_async(work)
    assert [event["params"]["data"] for event in custom] == [{"payload": {"from": "deep"}}]
    assert {"values", "updates", "custom", "lifecycle"} <= set(every)
    assert [item.graph_name for name, item in mixed if name == "subgraphs"] == ["inner"]
    assert [item["log"] for name, item in mixed if name == "values"][-1] == ["deep", "after"]


def test_async_tools(run_async):
    async def work(client):
        async with client.threads.stream(assistant_id="tooled") as thread:
            await thread.run.start(input=HI)
            calls = [call async for call in thread.tool_calls]
            return [(call.name, await call.output) for call in calls]

    assert run_async(work) == [("look_up", "sunny in Rome")]


def test_async_failure(run_async):
    async def work(client):
        async with client.threads.stream(assistant_id="fails") as thread:
            await thread.run.start(input={})
            await thread.output

    with pytest.raises(Exception, match="the node broke"):
        run_async(work)


@TRANSPORTS
def test_sync_run(sync_client, stack, transport):
    options = {"assistant_id": "tokens", "transport": transport}
    with stream(sync_client, stack["api_key"], **options) as thread:
        thread.run.start(input=HI)
        assert tokens_in(thread.subscribe(["messages"])) == "one two three"
        assert len(thread.output["messages"]) == 2
        assert thread.agent.get_tree()["nodes"]


@TRANSPORTS
def test_sync_interrupt(sync_client, stack, transport):
    thread_id = sync_client.threads.create()["thread_id"]
    options = {"thread_id": thread_id, "assistant_id": "ask", "transport": transport}
    with stream(sync_client, stack["api_key"], **options) as thread:
        thread.run.start(input={})
        for _ in range(1000):
            if thread.interrupted:
                break
            time.sleep(0.01)
        assert thread.interrupts[0]["namespace"] == []
        thread.run.respond("yes")
        assert thread.output["log"] == ["answer: yes", "done"]


def test_sync_projections(sync_client):
    with sync_client.threads.stream(assistant_id="nested") as thread:
        thread.run.start(input={})
        mixed = list(thread.interleave_projections(["values", "subgraphs"]))
        assert [item.graph_name for name, item in mixed if name == "subgraphs"] == ["inner"]
        assert [item["log"] for name, item in mixed if name == "values"][-1] == ["deep", "after"]
    with sync_client.threads.stream(assistant_id="nested") as thread:
        thread.run.start(input={})
        methods = {event["method"] for event in thread.events}
        assert {"values", "updates", "custom", "lifecycle"} <= methods
        thread.close()
