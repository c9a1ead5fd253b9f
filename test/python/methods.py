"""Records which public methods of the clients ran, as called by tests and not by the SDK itself."""

import inspect
import sys
import threading

import langgraph_sdk.client as sdk
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
]

NOT_CALLED = {
    "AsyncThreadStream.observe_applied_through_seq": "called by the SDK with each reply",
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


def all_methods():
    return set(_names.values())


def called_methods():
    return _called
