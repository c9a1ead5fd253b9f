import { Client } from "@langchain/langgraph-sdk";
import { Client as Client2 } from "langgraph-sdk-2";
import { stack } from "./stack.ts";

/** The official SDK against one deployment, as its users write it. */
export function client(deployment_id: string, { maxRetries = 0 } = {}): Client {
  return new Client({ ...options(deployment_id), callerOptions: { maxRetries } });
}

/** Both supported lines of the SDK, which differ in types and not in the calls that are made here. */
export const lines = [
  ["1.15", client],
  ["2.0.0", (id: string) => new Client2(options(id)) as unknown as Client],
] as const;

function options(deployment_id: string) {
  return {
    apiUrl: `${stack.base_url}/agents/${deployment_id}`,
    apiKey: stack.api_key,
    callerOptions: { maxRetries: 0 },
  };
}
