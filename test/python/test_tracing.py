"""The tracing SDK: @traceable, ingestion, queries, projects and feedback."""

import datetime
import time
import uuid
import warnings

import langsmith
import pytest
from langsmith import AsyncClient, Client, traceable
from langsmith.run_helpers import tracing_context
from langsmith.run_trees import RunTree
from langsmith.schemas import Attachment
from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError


@pytest.fixture(scope="module")
def tracing(stack):
    client = Client(api_url=stack["base_url"], api_key=stack["api_key"])
    yield client
    client.cleanup()


@pytest.fixture
def project(tracing, unique):
    return tracing.create_project(unique, description="of a test", metadata={"of": "python"})


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def until(read, accept):
    """Returns an answer that is accepted: what a background thread sends may be on its way."""
    deadline = time.monotonic() + 30
    while not accept(answer := read()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)
    return answer


def create(tracing, project, **fields):
    id = langsmith.uuid7()
    given = {"id": id, "trace_id": id, "name": "root", "run_type": "chain", "inputs": {"q": 1}}
    start_time = now()
    given["dotted_order"] = f"{start_time:%Y%m%dT%H%M%S%fZ}{id}"
    tracing.create_run(**{**given, "start_time": start_time, "project_name": project.name, **fields})
    return id


def test_info(tracing, stack):
    assert tracing.info.batch_ingest_config["use_multipart_endpoint"] is True
    assert tracing.api_key == stack["api_key"]
    answer = tracing.request_with_retries("GET", "/info")
    assert answer.json()["version"] == tracing.info.version


def test_traceable(tracing, project):
    @traceable(run_type="llm", metadata={"model": "small"}, tags=["inner"])
    def model(text):
        return {"answer": text.upper()}

    @traceable
    def stream(text):
        yield from text

    @traceable(name="outer")
    def chain(text):
        "".join(stream("ab"))
        return model(text)

    @traceable
    def broken():
        raise ValueError("the function broke")

    with tracing_context(enabled=True, client=tracing, project_name=project.name):
        assert chain("hi") == {"answer": "HI"}
        with pytest.raises(ValueError):
            broken()
    tracing.flush()
    runs = until(
        lambda: list(tracing.list_runs(project_name=project.name)),
        lambda runs: len(runs) == 4 and all(run.end_time for run in runs),
    )
    by_name = {run.name: run for run in runs}
    outer, inner = by_name["outer"], by_name["model"]
    assert (inner.parent_run_id, inner.trace_id, inner.run_type) == (outer.id, outer.id, "llm")
    assert inner.tags == ["inner"] and inner.extra["metadata"]["model"] == "small"
    assert by_name["stream"].outputs == {"output": ["a", "b"]}
    assert "the function broke" in by_name["broken"].error
    tree = tracing.read_run(outer.id, load_child_runs=True)
    assert {child.name for child in tree.child_runs} == {"model", "stream"}


async def test_traceable_coroutine(tracing, project):
    @traceable
    async def ask(text):
        return text[::-1]

    with tracing_context(enabled=True, client=tracing, project_name=project.name):
        assert await ask("abc") == "cba"
    tracing.flush()
    [run] = until(
        lambda: list(tracing.list_runs(project_name=project.name, is_root=True)),
        lambda runs: len(runs) == 1 and runs[0].end_time,
    )
    assert run.outputs == {"output": "cba"}


def test_run_tree(tracing, project):
    root = RunTree(name="tree", inputs={"n": 1}, client=tracing, project_name=project.name)
    root.post()
    child = root.create_child(name="leaf", run_type="tool", inputs={})
    child.post()
    child.end(outputs={"n": 2})
    child.patch()
    root.end(outputs={"n": 3})
    root.patch()
    tracing.flush()
    tree = until(
        lambda: list(tracing.list_runs(trace_id=root.id, project_name=project.name)),
        lambda runs: len(runs) == 2 and all(run.end_time for run in runs),
    )
    assert {run.name: run.outputs for run in tree} == {"tree": {"n": 3}, "leaf": {"n": 2}}


def test_create_update_and_read(tracing, project):
    id = create(tracing, project, tags=["one"])
    tracing.flush()
    until(lambda: list(tracing.list_runs(run_ids=[id])), len)
    tracing.update_run(id, end_time=now(), outputs={"a": 2}, tags=["one", "two"], error="it broke")
    tracing.flush()
    run = until(lambda: tracing.read_run(id), lambda run: run.end_time)
    assert (run.inputs, run.outputs, run.error) == ({"q": 1}, {"a": 2}, "it broke")
    assert run.tags == ["one", "two"] and run.status == "error"
    assert str(id) in tracing.get_run_url(run=run, project_id=project.id)
    with pytest.raises(LangSmithNotFoundError):
        tracing.read_run(uuid.uuid4())


@pytest.mark.parametrize("way", ["multipart_ingest", "batch_ingest_runs"])
def test_ingest(tracing, project, way):
    runs = []
    for n in range(3):
        id, start = langsmith.uuid7(), now()
        runs.append(
            {
                "id": id,
                "trace_id": id,
                "dotted_order": f"{start:%Y%m%dT%H%M%S%fZ}{id}",
                "name": f"run {n}",
                "run_type": "chain",
                "start_time": start,
                "end_time": now(),
                "inputs": {"text": "é" * 1000},
                "outputs": {"n": n},
                "session_name": project.name,
            }
        )
    getattr(tracing, way)(create=runs)
    read = until(
        lambda: list(tracing.list_runs(project_id=project.id, limit=10)),
        lambda found: len(found) == 3,
    )
    assert {run.name: run.outputs["n"] for run in read} == {"run 0": 0, "run 1": 1, "run 2": 2}
    assert all(run.inputs == {"text": "é" * 1000} for run in read)


def test_attachment(tracing, project):
    file = Attachment(mime_type="text/plain", data=b"of a file")
    id = create(tracing, project, attachments={"note": file}, end_time=now())
    tracing.flush()
    run = until(lambda: list(tracing.list_runs(run_ids=[id])), len)[0]
    assert run.inputs == {"q": 1}
    assert run.attachments["note"]["reader"].read() == b"of a file"
    read = tracing.read_run(id)
    assert read.inputs == {"q": 1}
    assert read.attachments["note"]["mime_type"] == "text/plain"
    assert read.attachments["note"]["reader"].read() == b"of a file"


async def test_share(tracing, project, stack):
    root = RunTree(name="root", inputs={}, client=tracing, project_name=project.name)
    root.post()
    leaf = root.create_child(name="child", run_type="tool", inputs={})
    leaf.post()
    root.end(outputs={"a": 1})
    root.patch()
    tracing.flush()
    id, child = root.id, leaf.id
    until(
        lambda: list(tracing.list_runs(trace_id=id, project_id=project.id)),
        lambda runs: len(runs) == 2 and any(run.outputs for run in runs),
    )
    assert not tracing.run_is_shared(id)
    link = tracing.share_run(id)
    token = link.split("/")[-2]
    assert tracing.run_is_shared(child)
    assert tracing.read_run_shared_link(id) == link
    stranger = Client(api_url=stack["base_url"], api_key="none")
    assert stranger.read_shared_run(token).outputs == {"a": 1}
    assert stranger.read_shared_run(link, child).name == "child"
    assert {run.id for run in stranger.list_shared_runs(token)} == {id, child}
    assert [run.id for run in stranger.list_shared_runs(token, [str(child)])] == [child]
    async with AsyncClient(api_url=stack["base_url"], api_key=stack["api_key"]) as client:
        assert await client.share_run(id) == link
        assert await client.read_run_shared_link(id) == link
        assert await client.run_is_shared(id)
    tracing.unshare_run(id)
    assert not tracing.run_is_shared(id)
    with pytest.raises(LangSmithNotFoundError):
        stranger.read_shared_run(token)


async def test_presigned_feedback(tracing, project, stack):
    id = create(tracing, project, end_time=now())
    tracing.flush()
    until(lambda: list(tracing.list_runs(run_ids=[id])), len)
    hour = datetime.timedelta(hours=1)
    one = tracing.create_presigned_feedback_token(id, "one", expiration=hour)
    two, three = tracing.create_presigned_feedback_tokens(id, ["two", "three"])
    assert {each.id for each in tracing.list_presigned_feedback_tokens(id)} == {
        one.id,
        two.id,
        three.id,
    }
    tracing.create_feedback_from_token(one.id, 1, comment="by token")
    tracing.create_feedback_from_token(two.url, 0.5)
    async with AsyncClient(api_url=stack["base_url"], api_key=stack["api_key"]) as client:
        four = await client.create_presigned_feedback_token(id, "four", expiration=now() + hour)
        await client.create_feedback_from_token(four.id, 0)
    given = {each.key: each.score for each in tracing.list_feedback(run_ids=[id])}
    assert given == {"one": 1, "two": 0.5, "four": 0}


def test_filters(tracing, project):
    create(tracing, project, name="a", tags=["red"], end_time=now(), outputs={})
    failed = create(tracing, project, name="b", run_type="llm", end_time=now(), error="broke")
    extra = {"metadata": {"thread_id": "t-1"}}
    create(tracing, project, name="c", extra=extra, end_time=now(), outputs={"text": "needle"})
    tracing.flush()
    until(lambda: list(tracing.list_runs(project_id=project.id)), lambda runs: len(runs) == 3)

    def names(**options):
        return sorted(run.name for run in tracing.list_runs(project_id=project.id, **options))

    assert names(filter='has(tags, "red")') == ["a"]
    assert names(filter='and(eq(run_type, "llm"), neq(error, null))') == ["b"]
    assert names(error=True) == ["b"]
    assert names(run_type="llm") == ["b"]
    assert names(query="needle") == ["c"]
    assert names(trace_filter='eq(name, "c")') == ["c"]
    assert names(tree_filter='eq(name, "a")') == ["a"]
    assert names(start_time=now() + datetime.timedelta(hours=1)) == []
    assert names(limit=2).__len__() == 2
    select = ["id", "name", "run_type", "start_time"]
    [narrow] = tracing.list_runs(project_id=project.id, run_ids=[failed], select=select)
    assert narrow.name == "b"
    stats = tracing.get_run_stats(project_ids=[project.id])
    assert stats["run_count"] == 3 and stats["error_rate"] == pytest.approx(1 / 3)
    [thread] = tracing.list_threads(project_id=project.id)
    assert (thread["thread_id"], thread["count"]) == ("t-1", 1)
    read = list(tracing.read_thread(thread_id="t-1", project_id=project.id))
    assert [run.name for run in read] == ["c"]


def test_projects(tracing, unique):
    made = tracing.create_project(unique, description="first", metadata={"n": 1})
    with pytest.raises(LangSmithConflictError):
        tracing.create_project(unique)
    assert tracing.create_project(unique, upsert=True).id == made.id
    assert tracing.has_project(unique)
    assert not tracing.has_project(f"{unique}-2")
    changed = tracing.update_project(made.id, description="second")
    assert (changed.name, changed.description) == (unique, "second")
    assert tracing.read_project(project_name=unique, include_stats=True).run_count in (0, None)
    assert tracing.read_project(project_id=str(made.id)).metadata["n"] == 1
    assert [each.id for each in tracing.list_projects(name=unique)] == [made.id]
    assert [each.id for each in tracing.list_projects(name_contains=unique, limit=1)] == [made.id]
    tracing.delete_project(project_name=unique)
    with pytest.raises(LangSmithNotFoundError):
        tracing.read_project(project_name=unique)


def test_feedback(tracing, project):
    id = create(tracing, project, end_time=now())
    tracing.flush()
    until(lambda: list(tracing.list_runs(run_ids=[id])), len)
    made = tracing.create_feedback(
        id, "stars", score=0.5, value="good", comment="first", correction={"a": 1}
    )
    tracing.flush()
    read = until(
        lambda: list(tracing.list_feedback(run_ids=[id], feedback_key=["stars"])), len
    )
    assert [(each.id, each.score, each.comment) for each in read] == [(made.id, 0.5, "first")]
    tracing.update_feedback(made.id, score=1, comment="second")
    again = tracing.read_feedback(made.id)
    assert (again.score, again.comment, again.value) == (1, "second", "good")
    tracing.delete_feedback(made.id)
    with pytest.raises(LangSmithNotFoundError):
        tracing.read_feedback(made.id)


async def test_async_client(tracing, project, stack, unique):
    async with AsyncClient(api_url=stack["base_url"], api_key=stack["api_key"]) as client:
        made = await client.create_project(f"{unique}-a")
        id, start = langsmith.uuid7(), now()
        await client.create_run(
            "async",
            {"q": 1},
            "chain",
            id=id,
            trace_id=id,
            dotted_order=f"{start:%Y%m%dT%H%M%S%fZ}{id}",
            start_time=start,
            project_name=made.name,
        )
        await client.update_run(id, end_time=now(), outputs={"a": 1})
        run = await client.read_run(id)
        assert (run.name, run.outputs) == ("async", {"a": 1})
        listed = [each async for each in client.list_runs(project_id=made.id)]
        assert [each.id for each in listed] == [id]
        assert (await client.read_project(project_name=made.name)).id == made.id
        feedback = await client.create_feedback(id, key="stars", score=1)
        assert (await client.read_feedback(feedback.id)).score == 1
        found = [each async for each in client.list_feedback(run_ids=[id])]
        assert [each.id for each in found] == [feedback.id]
        await client.delete_feedback(feedback.id)
        await client.delete_project(project_id=str(made.id))


def test_no_warnings_of_the_backend(stack):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client = Client(api_url=stack["base_url"], api_key=stack["api_key"])
        assert client.info.version
        client.cleanup()
        client.close()
