"""Stateless runs: a stream and a wait without a thread."""

import asyncio
import os

from langgraph_sdk import get_client


async def main() -> None:
    client = get_client(url=os.environ["DEPLOYMENT_URL"], api_key=os.environ["LANGSMITH_API_KEY"])
    assistant_id = "agent"
    message = {"messages": [{"role": "user", "content": "Hello from nowhere"}]}
    async for chunk in client.runs.stream(None, assistant_id, input=message, stream_mode="updates"):
        if chunk.data and "run_id" not in chunk.data:
            print("update:", chunk.data)
    result = await client.runs.wait(None, assistant_id, input=message)
    print("result:", result["messages"][-1]["content"])


asyncio.run(main())
