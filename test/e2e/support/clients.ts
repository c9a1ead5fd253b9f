import { Client } from "@langchain/langgraph-sdk";
import { Client as Client2 } from "langgraph-sdk-2";
import { stack } from "./stack.ts";

/** The official SDK against one deployment, as its users write it. */
export function client(deployment_id: string, { maxRetries = 0 } = {}): Client {
  return new Client({ ...options(deployment_id), callerOptions: { maxRetries } });
}

/** The same through the SDK's other supported line. */
export function client2(deployment_id: string): Client2 {
  return new Client2(options(deployment_id));
}

function options(deployment_id: string) {
  return {
    apiUrl: `${stack.base_url}/agents/${deployment_id}`,
    apiKey: stack.api_key,
    callerOptions: { maxRetries: 0 },
  };
}
