"""Fixtures of the tests, which test/e2e/python.test.ts starts against a stack."""

import asyncio
import gc
import inspect
import json
import os
import uuid

import pytest
from langgraph_sdk import get_client, get_sync_client

import methods

# Python 3.11.2 crashes when it collects while a thread of langgraph-sdk reads a stream with a generator.
gc.disable()


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == "test_every_method.py")


def pytest_collection_finish(session):
    emit({"collected": [item.nodeid for item in session.items]})


def pytest_runtest_logreport(report):
    """Reports each test once: by its call, or by the setup or teardown that failed."""
    if report.when == "call" or not report.passed:
        emit({"id": report.nodeid, "outcome": report.outcome, "text": report.longreprtext})


def emit(line):
    """Writes to the descriptor that Vitest reads; none when pytest is started by hand."""
    if "REPORT_FD" in os.environ:
        os.write(int(os.environ["REPORT_FD"]), (json.dumps(line) + "\n").encode())


def pytest_sessionstart():
    methods.record()


@pytest.fixture(scope="session")
def stack():
    """The addresses and keys of the stack: base_url, api_key, tenant_id, operator_token, agent_id."""
    return json.loads(os.environ["HEDDLE_STACK"])


@pytest.fixture(scope="session")
def agent_url(stack):
    return f"{stack['base_url']}/agents/{stack['agent_id']}"


class Blocking:
    """Drives an async client from a test that is written once for both clients."""

    def __init__(self, target, loop):
        self._target, self._loop = target, loop

    def __getattr__(self, name):
        value = getattr(self._target, name)
        return self._call(value) if callable(value) else Blocking(value, self._loop)

    def _call(self, method):
        def call(*args, **kwargs):
            result = method(*args, **kwargs)
            if inspect.isawaitable(result):
                result = self._loop.run_until_complete(result)
            return self._drain(result) if hasattr(result, "__aiter__") else result

        return call

    def _drain(self, items):
        iterator = aiter(items)
        try:
            while True:
                try:
                    yield self._loop.run_until_complete(anext(iterator))
                except StopAsyncIteration:
                    return
        finally:
            if hasattr(iterator, "aclose"):
                self._loop.run_until_complete(iterator.aclose())


@pytest.fixture(scope="session")
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="session", params=["sync", "async"])
def client(request, stack, agent_url, loop):
    """The LangGraph SDK's two clients."""
    if request.param == "sync":
        with get_sync_client(url=agent_url, api_key=stack["api_key"]) as client:
            yield client
    else:
        client = get_client(url=agent_url, api_key=stack["api_key"])
        yield Blocking(client, loop)
        loop.run_until_complete(client.aclose())


@pytest.fixture
def thread_id(client):
    return client.threads.create()["thread_id"]


@pytest.fixture
def unique():
    return f"py-{uuid.uuid4().hex[:12]}"
