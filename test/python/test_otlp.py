"""Spans by OTLP: the official exporter, OpenInference's, Traceloop's and LangSmith's spans of LangChain."""

import os
import subprocess
import sys

import pytest
from langsmith import Client
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from openinference.instrumentation.langchain import LangChainInstrumentor as OpenInference
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.langchain import LangchainInstrumentor as Traceloop
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

TREE = {
    "pipeline": (None, "chain"),
    "ChatPromptTemplate": ("pipeline", "prompt"),
    "FakeListChatModel": ("pipeline", "llm"),
    "use": ("pipeline", "chain"),
    "search": ("use", "tool"),
}


@tool
def search(query: str) -> str:
    """Searches."""
    return "found " + query


def pipeline():
    prompt = ChatPromptTemplate.from_messages([("system", "be brief"), ("user", "{q}")])
    model = FakeListChatModel(responses=["the answer"])
    use = RunnableLambda(lambda message: search.invoke(message.content), name="use")
    config = {"run_name": "pipeline", "metadata": {"user": "u1"}}
    return (prompt | model | use).invoke({"q": "why"}, config=config)


def exporter(stack, project):
    headers = {"x-api-key": stack["api_key"], "Langsmith-Project": project}
    endpoint = f"{stack['base_url']}/otel/v1/traces"
    return OTLPSpanExporter(endpoint=endpoint, headers=headers, compression=Compression.Gzip)


def read(stack, project):
    """Returns the runs of the only trace by name, after a comparison with the tree of the pipeline."""
    client = Client(api_url=stack["base_url"], api_key=stack["api_key"])
    runs = {run.id: run for run in client.list_runs(project_name=project)}
    [root] = [run for run in runs.values() if run.parent_run_id is None]
    assert {run.trace_id for run in runs.values()} == {root.id}
    assert all(run.dotted_order.startswith(root.dotted_order) for run in runs.values())
    by_name = {run.name.removesuffix(".chat"): run for run in runs.values()}
    name_of = {run.id: name for name, run in by_name.items()}
    assert {name: name_of.get(run.parent_run_id) for name, run in by_name.items()} == {
        name: parent for name, (parent, _) in TREE.items()
    }
    assert all(run.status == "success" and run.end_time for run in runs.values())
    client.cleanup()
    return by_name


# A simple processor sends each span alone, children before their parents.
@pytest.mark.parametrize(
    ("instrumentor", "processor"),
    [(OpenInference, BatchSpanProcessor), (Traceloop, SimpleSpanProcessor)],
    ids=["openinference", "traceloop"],
)
def test_instrumentations_of_langchain(stack, unique, instrumentor, processor):
    provider = TracerProvider()
    provider.add_span_processor(processor(exporter(stack, unique)))
    instrumentor().instrument(tracer_provider=provider)
    try:
        assert pipeline() == "found the answer"
    finally:
        instrumentor().uninstrument()
    provider.shutdown()
    runs = read(stack, unique)
    [answer] = runs["FakeListChatModel"].outputs["messages"]
    assert "the answer" in str(answer) and answer["role"] == "assistant"
    assert "why" in str(runs["FakeListChatModel"].inputs["messages"][-1])
    assert {name: run.run_type for name, run in runs.items() if name != "ChatPromptTemplate"} == {
        name: run_type for name, (_, run_type) in TREE.items() if name != "ChatPromptTemplate"
    }
    assert all(run.extra["metadata"]["user"] == "u1" for run in runs.values())


def test_langsmith_otel_mode(stack, unique):
    env = {
        **os.environ,
        "LANGSMITH_OTEL_ENABLED": "true",
        "LANGSMITH_OTEL_ONLY": "true",
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_ENDPOINT": stack["base_url"],
        "LANGSMITH_API_KEY": stack["api_key"],
        "LANGSMITH_PROJECT": unique,
    }
    code = "import test_otlp; from langchain_core.tracers.langchain import wait_for_all_tracers\n"
    code += "test_otlp.pipeline(); wait_for_all_tracers()"
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=60)
    runs = read(stack, unique)
    assert {name: run.run_type for name, run in runs.items()} == {
        name: run_type for name, (_, run_type) in TREE.items()
    }
    assert runs["pipeline"].inputs == {"q": "why"}
    assert runs["search"].outputs == {"output": "found the answer"}


def test_exporter_alone(stack, unique):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter(stack, unique)))
    tracer = provider.get_tracer("test")
    with pytest.raises(ValueError), tracer.start_as_current_span("outer") as outer:
        with tracer.start_as_current_span("inner", attributes={"langsmith.span.kind": "tool"}):
            raise ValueError("the function broke")
    client = Client(api_url=stack["base_url"], api_key=stack["api_key"])
    root, inner = sorted(client.list_runs(project_name=unique), key=lambda run: run.start_time)
    assert (root.name, inner.name, inner.run_type) == ("outer", "inner", "tool")
    assert root.id.hex == format(outer.get_span_context().trace_id, "032x")
    assert inner.parent_run_id == root.id and "the function broke" in inner.error
    client.cleanup()
