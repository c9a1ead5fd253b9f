import { systemAssistantId } from "../threads/assistants.ts";
import { type AgentCard, PROTOCOL_VERSION } from "./schema.ts";

type Described = {
  assistant_id: string;
  graph_id: string;
  name: string;
  description: string | null;
  version: number;
};

const MODES = ["text/plain", "application/json"];

/** The keys that the agent server takes, in either place. */
const SECURITY_SCHEMES = {
  api_key: { type: "apiKey", in: "header", name: "X-Api-Key" },
  bearer: { type: "http", scheme: "bearer" },
};

/** How one assistant presents itself to other agents. */
export function toCard(assistant: Described, graph: string | null, url: string): AgentCard {
  const { assistant_id, name, version } = assistant;
  const description = assistant.description ?? graph ?? `The agent ${name}.`;
  return {
    protocolVersion: PROTOCOL_VERSION,
    name,
    description,
    url,
    preferredTransport: "JSONRPC",
    version: String(version),
    capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: [{ id: assistant_id, name, description, tags: ["langgraph", assistant.graph_id] }],
    securitySchemes: SECURITY_SCHEMES,
    security: [{ api_key: [] }, { bearer: [] }],
    supportsAuthenticatedExtendedCard: false,
  };
}

export function isSystem({ assistant_id, graph_id }: Described): boolean {
  return assistant_id === systemAssistantId(graph_id);
}
