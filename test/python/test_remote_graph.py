"""RemoteGraph of langgraph: as a runnable and as a node of a local graph."""

import operator
import uuid
from typing import Annotated, TypedDict

import pytest
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import START, StateGraph
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph.types import Command, StateUpdate
from langgraph_sdk import get_sync_client

HI = {"messages": [{"role": "user", "content": "hi"}]}
STEPS = {"delay_ms": 0}


@pytest.fixture
def remote(stack, agent_url):
    return lambda name: RemoteGraph(name, url=agent_url, api_key=stack["api_key"])


@pytest.fixture
def config(stack, agent_url):
    with get_sync_client(url=agent_url, api_key=stack["api_key"]) as client:
        return {"configurable": {"thread_id": client.threads.create()["thread_id"]}}


def test_invoke(remote, config):
    assert remote("steps").invoke(STEPS)["log"] == ["a", "b", "c"]
    assert remote("steps").invoke(STEPS, config)["log"] == ["a", "b", "c"]
    named = remote("steps").with_config(tags=["t"]).copy({"name": "other"})
    assert named.name == "other"
    with pytest.raises(RemoteException, match="the node broke"):
        remote("fails").invoke({})


async def test_ainvoke(remote, config):
    assert (await remote("steps").ainvoke(STEPS, config))["log"] == ["a", "b", "c"]
    with pytest.raises(RemoteException, match="the node broke"):
        await remote("fails").ainvoke({})


def test_stream(remote, config):
    nodes = [list(chunk)[0] for chunk in remote("steps").stream(STEPS, stream_mode="updates")]
    assert nodes == ["a", "b", "c"]
    chunks = list(
        remote("nested").stream({}, config, stream_mode=["updates", "custom"], subgraphs=True)
    )
    assert [data for _, mode, data in chunks if mode == "custom"] == [{"from": "deep"}]
    assert chunks[-1] == ((), "updates", {"after": {"log": ["after"]}})


async def test_astream(remote):
    texts = [
        message["content"]
        async for message, _ in remote("tokens").astream(HI, stream_mode="messages")
    ]
    assert "".join(texts) == "one two three"


def test_state(remote, config):
    graph = remote("steps")
    graph.invoke(STEPS, config)
    state = graph.get_state(config)
    assert (state.values["log"], state.next) == (["a", "b", "c"], ())
    history = list(graph.get_state_history(config))
    assert [each.next for each in history] == [(), ("c",), ("b",), ("a",), ("__start__",)]
    changed = graph.update_state(config, {"log": ["by hand"]}, as_node="c")
    assert changed["configurable"]["thread_id"] == config["configurable"]["thread_id"]
    assert graph.get_state(config).values["log"][-1] == "by hand"
    assert graph.get_state(history[2].config).values["log"] == ["a"]


async def test_astate(remote, config):
    graph = remote("steps")
    await graph.ainvoke(STEPS, config)
    assert (await graph.aget_state(config)).values["log"] == ["a", "b", "c"]
    history = [each async for each in graph.aget_state_history(config, limit=2)]
    assert len(history) == 2
    await graph.aupdate_state(config, {"log": ["by hand"]}, as_node="c")
    assert (await graph.aget_state(config)).values["log"][-1] == "by hand"


def test_interrupt_and_resume(remote, config):
    graph = remote("ask")
    graph.invoke({}, config)
    [interrupt] = graph.get_state(config).interrupts
    assert interrupt.value == {"question": "go on?"}
    assert graph.invoke(Command(resume="yes"), config)["log"] == ["answer: yes", "done"]


async def test_graph(remote):
    drawn = remote("steps").get_graph()
    assert set(drawn.nodes) == {"__start__", "a", "b", "c", "__end__"}
    assert len((await remote("steps").aget_graph()).edges) == 4


def test_stream_events(remote, config):
    with remote("nested").stream_events({}, config, version="v3") as run:
        assert run.output["log"] == ["deep", "after"]


async def test_astream_events(remote, config):
    async with await remote("nested").astream_events({}, config, version="v3") as run:
        assert (await run.output())["log"] == ["deep", "after"]


async def test_what_the_class_refuses(remote, config):
    updates = [[StateUpdate(values={}, as_node="a")]]
    with pytest.raises(NotImplementedError):
        remote("steps").bulk_update_state(config, updates)
    with pytest.raises(NotImplementedError):
        await remote("steps").abulk_update_state(config, updates)


class State(TypedDict):
    delay_ms: int
    log: Annotated[list[str], operator.add]


def test_as_a_node(remote, config):
    builder = StateGraph(State)
    builder.add_node("before", lambda state: {"log": ["before"]})
    builder.add_node("remote", remote("steps"))
    builder.add_edge(START, "before")
    builder.add_edge("before", "remote")
    graph = builder.compile()
    values = graph.invoke({"delay_ms": 0, "log": []})
    assert values["log"][-3:] == ["a", "b", "c"]
    namespaces = [namespace for namespace, _ in graph.stream({"delay_ms": 0}, subgraphs=True)]
    assert () in namespaces and any(
        namespace and namespace[0].startswith("remote:") for namespace in namespaces
    )


def test_an_interrupt_in_a_node(remote):
    builder = StateGraph(State)
    builder.add_node("remote", remote("ask"))
    builder.add_edge(START, "remote")
    graph = builder.compile(checkpointer=MemorySaver())
    config = {"configurable": {"thread_id": str(uuid.uuid4())}}
    values = graph.invoke({"log": []}, config)
    assert values["__interrupt__"][0].value == {"question": "go on?"}
