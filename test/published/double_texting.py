"""Double texting: a second run waits for the first, because `enqueue` is its multitask strategy."""

import asyncio
import os

from langgraph_sdk import get_client


async def main() -> None:
    client = get_client(url=os.environ["DEPLOYMENT_URL"], api_key=os.environ["LANGSMITH_API_KEY"])
    assistant_id = "agent"
    thread = await client.threads.create()
    first_run = await client.runs.create(
        thread["thread_id"],
        assistant_id,
        input={"messages": [{"role": "user", "content": "what's the weather in sf?"}]},
    )
    second_run = await client.runs.create(
        thread["thread_id"],
        assistant_id,
        input={"messages": [{"role": "user", "content": "what's the weather in nyc?"}]},
        multitask_strategy="enqueue",
    )
    await client.runs.join(thread["thread_id"], second_run["run_id"])
    first = await client.runs.get(thread["thread_id"], first_run["run_id"])
    print("first run:", first["status"])
    state = await client.threads.get_state(thread["thread_id"])
    for message in state["values"]["messages"]:
        print(f"{message['type']}: {message['content']}")


asyncio.run(main())
