"""Spans by OTLP: the official exporter, OpenInference's, Traceloop's and LangSmith's spans, and those of Pydantic AI."""

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from langsmith import Client
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from openai import OpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor as OpenInference
from openinference.instrumentation.openai import OpenAIInstrumentor as OpenInferenceOfOpenAI
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.langchain import LangchainInstrumentor as Traceloop
from opentelemetry.instrumentation.openai import OpenAIInstrumentor as TraceloopOfOpenAI
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel

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


COMPLETION = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "small-2026",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "search", "arguments": '{"query": "prices"}'},
                    }
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28},
}


class Completions(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(COMPLETION).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def local_openai():
    """A server with the API of OpenAI, which answers each request with the same call of a tool."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none")
    finally:
        server.shutdown()


def runs_of(stack, project):
    client = Client(api_url=stack["base_url"], api_key=stack["api_key"])
    runs = sorted(client.list_runs(project_name=project), key=lambda run: run.start_time)
    client.cleanup()
    return runs


@pytest.mark.parametrize(
    "instrumentor", [OpenInferenceOfOpenAI, TraceloopOfOpenAI], ids=["openinference", "traceloop"]
)
def test_instrumentations_of_openai(stack, unique, instrumentor):
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter(stack, unique)))
    instrumentor().instrument(tracer_provider=provider)
    try:
        with local_openai() as client:
            client.chat.completions.create(
                model="small",
                temperature=0.5,
                messages=[
                    {"role": "system", "content": "be brief"},
                    {"role": "user", "content": "why"},
                ],
            )
    finally:
        instrumentor().uninstrument()
    provider.shutdown()
    [run] = runs_of(stack, unique)
    assert (run.run_type, run.status) == ("llm", "success")
    assert (run.prompt_tokens, run.completion_tokens, run.total_tokens) == (21, 7, 28)
    assert [message["role"] for message in run.inputs["messages"]] == ["system", "user"]
    assert "why" in str(run.inputs["messages"][1])
    assert "search" in str(run.outputs["messages"]) and "prices" in str(run.outputs["messages"])
    assert run.extra["metadata"]["ls_model_name"].startswith("small")
    assert run.extra["invocation_params"]["temperature"] == 0.5


def test_pydantic_ai(stack, unique):
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter(stack, unique)))
    agent = Agent(
        TestModel(custom_output_text="the answer"),
        name="asker",
        instructions="be brief",
    )
    agent.instrument = InstrumentationSettings(tracer_provider=provider)

    @agent.tool_plain
    def find(query: str) -> str:
        return "found " + query

    assert agent.run_sync("why").output == "the answer"
    provider.shutdown()
    runs = runs_of(stack, unique)
    root, first, tool_run, last = runs
    assert [run.run_type for run in runs] == ["chain", "llm", "tool", "llm"]
    assert {run.parent_run_id for run in (first, tool_run, last)} == {root.id}
    assert "why" in str(root.inputs["messages"][0]) and root.outputs == {"output": "the answer"}
    assert "be brief" in str(first.inputs["system_instructions"])
    assert [message["role"] for message in first.inputs["messages"]] == ["user"]
    assert first.outputs["messages"][0]["parts"][0]["name"] == "find"
    assert tool_run.inputs["query"] and tool_run.outputs == {"output": "found a"}
    assert "the answer" in str(last.outputs["messages"])
    assert all(run.total_tokens > 0 for run in (first, last))
    assert all(run.extra["metadata"]["ls_model_name"] == "test" for run in (first, last))
