from datetime import datetime, timedelta, timezone

import pytest
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError

NEVER = "0 0 29 2 *"


def test_lifecycle(client, unique):
    end = datetime.now(timezone.utc) + timedelta(days=3650)
    cron = client.crons.create(
        "steps",
        schedule=NEVER,
        input={"delay_ms": 0},
        metadata={"of": unique},
        end_time=end,
        timezone="Europe/Zurich",
        on_run_completed="keep",
        stream_mode=["values"],
        durability="sync",
    )
    id = cron["cron_id"]
    assert (cron["schedule"], cron["thread_id"]) == (NEVER, None)
    changed = client.crons.update(id, schedule="0 0 1 1 *", end_time=None, enabled=False)
    assert (changed["schedule"], changed["enabled"], changed["end_time"]) == (
        "0 0 1 1 *",
        False,
        None,
    )
    with pytest.raises(UnprocessableEntityError):
        client.crons.update(id, schedule="every now and then")
    client.crons.delete(id)
    with pytest.raises(NotFoundError):
        client.crons.delete(id)


def test_search_and_count(client, unique, thread_id):
    of_thread = client.crons.create_for_thread(
        thread_id, "steps", schedule=NEVER, input={}, metadata={"of": unique}
    )
    client.crons.create("steps", schedule=NEVER, metadata={"of": unique}, enabled=False)
    found = client.crons.search(
        metadata={"of": unique}, sort_by="created_at", sort_order="asc", select=["cron_id"]
    )
    assert len(found) == 2 and found[0] == {"cron_id": of_thread["cron_id"]}
    [only] = client.crons.search(thread_id=thread_id, limit=5, offset=0)
    assert only["thread_id"] == thread_id
    assert len(client.crons.search(metadata={"of": unique}, enabled=False)) == 1
    assert client.crons.count(metadata={"of": unique}) == 2
    assert client.crons.count(thread_id=thread_id) == 1
    for cron in client.crons.search(metadata={"of": unique}):
        client.crons.delete(cron["cron_id"])
