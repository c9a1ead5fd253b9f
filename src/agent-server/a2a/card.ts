import { systemAssistantId } from "../threads/contract/assistant-ids.ts";
import { type AgentCard, DEFAULT_CARD_VERSION } from "./schema.ts";

type Described = {
  assistant_id: string;
  graph_id: string;
  name: string;
  description: string | null;
  version: number;
};

const MODES = ["text/plain", "application/json"];

/** Headers in which the agent server accepts a credential. */
const SECURITY_SCHEMES = {
  api_key: { type: "apiKey", in: "header", name: "X-Api-Key" },
  bearer: { type: "http", scheme: "bearer" },
};

/** The same schemes in A2A 1.0. */
const SECURITY_SCHEMES_V1 = {
  api_key: { apiKeySecurityScheme: { location: "header", name: "X-Api-Key" } },
  bearer: { httpAuthSecurityScheme: { scheme: "bearer" } },
};

/**
 * Returns the card of A2A 0.3, with the interfaces that clients of 1.0 read. `graph`: description of the graph, if any.
 */
export function toCard(assistant: Described, graph: string | null, url: string): AgentCard {
  return {
    protocolVersion: DEFAULT_CARD_VERSION,
    url,
    preferredTransport: "JSONRPC",
    ...describe(assistant, graph, url),
    capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
    securitySchemes: SECURITY_SCHEMES,
    security: [{ api_key: [] }, { bearer: [] }],
    supportsAuthenticatedExtendedCard: false,
  };
}

export function toCardV1(assistant: Described, graph: string | null, url: string): AgentCard {
  return {
    ...describe(assistant, graph, url),
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: SECURITY_SCHEMES_V1,
    securityRequirements: ["api_key", "bearer"].map((name) => ({
      schemes: { [name]: { list: [] } },
    })),
  };
}

function describe(assistant: Described, graph: string | null, url: string) {
  const { assistant_id, name, version } = assistant;
  const description = assistant.description || graph || `The agent ${name}.`;
  return {
    name,
    description,
    supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
      url,
      protocolBinding: "JSONRPC" as const,
      protocolVersion,
    })),
    version: String(version),
    defaultInputModes: MODES,
    defaultOutputModes: MODES,
    skills: [{ id: assistant_id, name, description, tags: ["langgraph", assistant.graph_id] }],
  };
}

export function isSystem({ assistant_id, graph_id }: Described): boolean {
  return assistant_id === systemAssistantId(graph_id);
}
