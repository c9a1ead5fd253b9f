"""Records which public methods of the clients ran, as called by tests and not by the SDK itself."""

import inspect
import sys
import threading
from fnmatch import fnmatchcase

import langgraph_sdk.client as sdk
import langsmith
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk._async.stream import AsyncThreadStream, RunModule
from langgraph_sdk._sync.stream import SyncRunModule, SyncThreadStream

CLASSES = [
    *(
        getattr(sdk, prefix + name)
        for prefix in ("", "Sync")
        for name in (
            "LangGraphClient",
            "AssistantsClient",
            "ThreadsClient",
            "RunsClient",
            "CronClient",
            "StoreClient",
        )
    ),
    AsyncThreadStream,
    SyncThreadStream,
    RunModule,
    SyncRunModule,
    langsmith.Client,
    langsmith.AsyncClient,
    RemoteGraph,
]

TRACES_ONLY = "Heddle stores traces, projects and feedback: no datasets, prompts, queues or evaluations"
GENERATED = "the client generated from the platform's own document; its JavaScript twin is tested"

#: Patterns of methods that no test calls, with the reason.
NOT_CALLED = {
    "AsyncThreadStream.observe_applied_through_seq": "called by the SDK with each reply",
    "*Client.*dataset*": TRACES_ONLY,
    "*Client.*example*": TRACES_ONLY,
    "*Client.*prompt*": TRACES_ONLY,
    "*Client.*commit*": TRACES_ONLY,
    "*Client.*annotation_queue*": TRACES_ONLY,
    "*Client.*evaluate*": TRACES_ONLY,
    "Client.evaluators": TRACES_ONLY,
    "Client.*experiment*": TRACES_ONLY,
    "Client.*insights*": TRACES_ONLY,
    "Client.list_project_issues": TRACES_ONLY,
    "Client.get_test_results": TRACES_ONLY,
    "Client.upload_*": TRACES_ONLY,
    "*Client.*feedback_config*": TRACES_ONLY,
    "*Client.*feedback_formula*": TRACES_ONLY,
    "*Client.*feedback_categories": TRACES_ONLY,
    "*Client.*_agent*": TRACES_ONLY,
    "*Client.agent_exists": TRACES_ONLY,
    "*Client.*_skill*": TRACES_ONLY,
    "*Client.skill_exists": TRACES_ONLY,
    "Client.list_shared_projects": TRACES_ONLY,
    "*Client.agents": GENERATED,
    "*Client.public": GENERATED,
    "*Client.runs": GENERATED,
    "*Client.sandboxes": GENERATED,
    "*Client.sessions": GENERATED,
    "*Client.threads": GENERATED,
    "*Client.traces": GENERATED,
    "*Client.evaluators": GENERATED,
    "Client.flush_compressed_traces": "called by flush",
    "*Client.tracing_mode": "a setting of the client",
    "*Client.workspace_id": "a setting of the client",
    "*Client.headers": "a setting of the client",
    "AsyncClient.api_key": "a setting of the client",
    "AsyncClient.info": "cached answer of the request that the synchronous client makes, too",
    "AsyncClient.aclose": "called by the context manager",
    "Client.aread_project": "read_project in a thread, of evaluations",
}

_names = {}
_called = set()


def _public_methods(cls):
    for name, value in vars(cls).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None) or value
        if not name.startswith("_") and inspect.isfunction(inspect.unwrap(function)):
            yield f"{cls.__name__}.{name}", inspect.unwrap(function).__code__


def _profile(frame, event, _arg):
    if event == "call" and frame.f_code in _names:
        caller = frame.f_back
        if caller is None or caller.f_code.co_filename != frame.f_code.co_filename:
            _called.add(_names[frame.f_code])


def record():
    for cls in CLASSES:
        _names.update({code: name for name, code in _public_methods(cls)})
    threading.setprofile(_profile)
    sys.setprofile(_profile)


def without_a_test():
    left = set(_names.values()) - _called
    return sorted(name for name in left if not any(fnmatchcase(name, p) for p in NOT_CALLED))


def stale_reasons():
    left = set(_names.values()) - _called
    return [p for p in NOT_CALLED if not any(fnmatchcase(name, p) for name in left)]
